"""Intervals of truth, as words."""

from __future__ import annotations

from datetime import UTC, datetime


def with_interval(sentence: str, valid_from: datetime | None, valid_to: datetime | None) -> str:
    """The sentence with its interval behind it, where it has one."""
    words = interval(valid_from, valid_to)
    return f"{sentence} ({words})" if words else sentence


def interval(valid_from: datetime | None, valid_to: datetime | None) -> str:
    """`since A`, `until B`, `A – B`; empty where neither end is known."""
    if valid_from and valid_to:
        return f"{moment(valid_from)} – {moment(valid_to)}"
    if valid_from:
        return f"since {moment(valid_from)}"
    return f"until {moment(valid_to)}" if valid_to else ""


def moment(at: datetime) -> str:
    """A day, or where it is not a day's beginning the moment in UTC."""
    utc = at.astimezone(UTC)
    if (utc.hour, utc.minute, utc.second, utc.microsecond) == (0, 0, 0, 0):
        return utc.date().isoformat()
    return utc.replace(tzinfo=None).isoformat(timespec="auto" if utc.second or utc.microsecond else "minutes") + "Z"
