"""Arithmetic of calendar windows on a caller's own clock: naive local times, weeks from Monday.

Everything here raises ValueError or OverflowError beyond the years 1 to 9999.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

MIDNIGHT: Final = time()
_DAY: Final = timedelta(days=1)
# 29 February is at most so far back.
_LONGEST_BACK_YEARS: Final = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A window of local time: start inclusive, end exclusive; None is open."""

    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True)
class Calendar:
    """A year, a month or a day (or days) of one, as far as it was said."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    last_day: int | None = None
    """The last of several days; None where there is one."""

    def span(self, year: int | None = None) -> Span:
        """The window, in a given year where none was said."""
        named = self.year if self.year is not None else year
        assert named is not None
        if self.month is None:
            return months(named, 1, 12)
        if self.day is None:
            return months(named, self.month, 1)
        return days(date(named, self.month, self.day), date(named, self.month, self.last_day or self.day))

    def latest(self, clock: datetime) -> Span:
        """The window; where no year was said, the latest that has begun by the clock."""
        if self.year is not None:
            return self.span()
        for year in range(clock.year, max(clock.year - _LONGEST_BACK_YEARS, 1) - 1, -1):
            try:
                found = self.span(year)
            except ValueError:
                continue
            if found.start is not None and found.start <= clock:
                return found
        raise ValueError("no such day")


def days(first: date, last: date) -> Span:
    """Whole days."""
    if last < first:
        raise ValueError("ends before it begins")
    return Span(datetime.combine(first, MIDNIGHT), datetime.combine(last, MIDNIGHT) + _DAY)


def day(clock: datetime, offset: int = 0) -> Span:
    """The day so many days after the clock's."""
    chosen = clock.date() + offset * _DAY
    return days(chosen, chosen)


def week(clock: datetime, offset: int = 0) -> Span:
    """Monday to Sunday, so many weeks after the clock's."""
    monday = clock.date() + timedelta(days=7 * offset - clock.weekday())
    return days(monday, monday + 6 * _DAY)


def weekend(clock: datetime, offset: int = 0) -> Span:
    """Saturday and Sunday of the week so many weeks after the clock's."""
    monday = clock.date() + timedelta(days=7 * offset - clock.weekday())
    return days(monday + 5 * _DAY, monday + 6 * _DAY)


def months(year: int, month: int, count: int) -> Span:
    """So many months from the first of one; the month may lie outside 1 to 12."""
    return Span(_first(year, month), _first(year, month + count))


def quarter(year: int, number: int) -> Span:
    """A quarter of a year; the number may lie outside 1 to 4."""
    return months(year, 3 * number - 2, 3)


def weekday_before(clock: datetime, number: int) -> Span:
    """The latest such day before today."""
    return day(clock, -((clock.weekday() - number) % 7 or 7))


def weekday(clock: datetime, number: int) -> Span:
    """The latest such day. Raises ValueError on that very day: it may be meant, or the one a week before."""
    if clock.weekday() == number:
        raise ValueError("may mean two days")
    return weekday_before(clock, number)


def of_unit(clock: datetime, unit: str, offset: int) -> Span:
    """The calendar unit so many units after the clock's."""
    match unit:
        case "day":
            return day(clock, offset)
        case "week":
            return week(clock, offset)
        case "month":
            return months(clock.year, clock.month + offset, 1)
        case "quarter":
            return quarter(clock.year, (clock.month + 2) // 3 + offset)
        case "year":
            return months(clock.year + offset, 1, 12)
    raise ValueError("no calendar unit")


def up_to_now(clock: datetime, unit: str, count: int) -> Span:
    """The last so many units up to the clock."""
    return Span(_back(clock, unit, count), clock)


def ago(clock: datetime, unit: str, count: int) -> Span:
    """Around so many units before the clock: a day, the seven days around a day, a calendar month or year, an hour."""
    if unit in ("month", "quarter", "year"):
        return of_unit(clock, unit, -count)
    middle = _back(clock, unit, count)
    if unit == "week":
        return days(middle.date() - 3 * _DAY, middle.date() + 3 * _DAY)
    if unit == "day":
        return day(clock, -count)
    around = timedelta(**{f"{unit}s": 1})
    return Span(middle - around, middle + around)


def _back(clock: datetime, unit: str, count: int) -> datetime:
    if unit in ("minute", "hour", "day", "week"):
        return clock - timedelta(**{f"{unit}s": count})
    count *= {"month": 1, "quarter": 3, "year": 12}[unit]
    first = _first(clock.year, clock.month - count)
    # The 31st of a shorter month is its last day.
    last = (_first(first.year, first.month + 1) - _DAY).day
    return clock.replace(year=first.year, month=first.month, day=min(clock.day, last))


def _first(year: int, month: int) -> datetime:
    years, month_before = divmod(month - 1, 12)
    return datetime(year + years, month_before + 1, 1)
