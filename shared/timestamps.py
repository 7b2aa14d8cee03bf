"""Protobuf timestamps as datetimes: UTC, whole microseconds, years 1 to 9999 (OB-5)."""

from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799


def to_datetime(timestamp: Timestamp) -> datetime:
    """Returns the moment in UTC; digits finer than a microsecond are cut towards the past.

    Raises:
        ValueError: the moment lies outside the years 0001 to 9999, or its nanoseconds outside 0 to 999,999,999.
    """
    if not _FIRST_SECOND <= timestamp.seconds <= _LAST_SECOND:
        raise ValueError("must lie within the years 0001 to 9999")
    if not 0 <= timestamp.nanos <= 999_999_999:
        raise ValueError("must have 0 to 999,999,999 nanoseconds")
    return _EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1_000)


def from_datetime(moment: datetime) -> Timestamp:
    """Returns a moment, in whatever zone it was given, as a timestamp.

    Raises:
        ValueError: the moment has no zone: which moment it is would be a guess.
    """
    seconds, microseconds = divmod(to_microseconds(moment), 1_000_000)
    return Timestamp(seconds=seconds, nanos=microseconds * 1_000)


def to_microseconds(moment: datetime) -> int:
    """Returns microseconds since 1970. Raises `ValueError` where the moment has no zone."""
    if moment.utcoffset() is None:
        raise ValueError("a moment needs a time zone")
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """Returns the moment that lies so many microseconds after 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)
