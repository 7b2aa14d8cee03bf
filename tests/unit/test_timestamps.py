"""Moments: UTC, microseconds, and the edges of the calendar (OB-5)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from shared.timestamps import EARLIEST, LATEST, from_datetime, from_microseconds, to_datetime, to_microseconds

MOMENTS = st.datetimes(timezones=st.just(UTC))


def at(text: str) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromJsonString(text)
    return timestamp


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("0001-01-01T00:00:00Z", EARLIEST),
        ("9999-12-31T23:59:59.999999Z", LATEST),
        ("9999-12-31T23:59:59.999999999Z", LATEST),
        ("2026-03-01T00:30:00+03:00", datetime(2026, 2, 28, 21, 30, tzinfo=UTC)),
        ("2024-02-29T12:00:00Z", datetime(2024, 2, 29, 12, tzinfo=UTC)),
        ("1969-12-31T23:59:59.999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
        ("1970-01-01T00:00:00.000000999Z", datetime(1970, 1, 1, tzinfo=UTC)),
        ("1969-12-31T23:59:59.999999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_edges(sent: str, expected: datetime) -> None:
    """OB-5: offsets, leap days, the first and the last year; finer digits are cut towards the past."""
    moment = to_datetime(at(sent))
    assert moment == expected
    assert moment.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("timestamp", "words"),
    [
        (Timestamp(seconds=-62_135_596_801), "years 0001 to 9999"),
        (Timestamp(seconds=253_402_300_800), "years 0001 to 9999"),
        (Timestamp(seconds=2**63 - 1), "years 0001 to 9999"),
        (Timestamp(seconds=0, nanos=-1), "nanoseconds"),
        (Timestamp(seconds=0, nanos=1_000_000_000), "nanoseconds"),
    ],
)
def test_what_is_no_moment_is_refused(timestamp: Timestamp, words: str) -> None:
    """OB-5: a clear error, not an overflow."""
    with pytest.raises(ValueError, match=words):
        to_datetime(timestamp)


@given(MOMENTS)
def test_round_trip(moment: datetime) -> None:
    """OB-5: every microsecond of the years 1 to 9999 comes back."""
    assert to_datetime(from_datetime(moment)) == moment
    assert from_microseconds(to_microseconds(moment)) == moment


def test_other_zones_are_converted_and_naive_times_refused() -> None:
    """OB-5: an offset is kept as the moment that it means; a time without one is not guessed at."""
    local = datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=3)))
    assert to_datetime(from_datetime(local)) == datetime(2026, 2, 28, 21, 30, tzinfo=UTC)
    with pytest.raises(ValueError, match="time zone"):
        from_datetime(datetime(2026, 3, 1))
