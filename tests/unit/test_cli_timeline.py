"""The drawing of `palimpsest as-of`: intervals over time, on one scale."""

from datetime import UTC, datetime

from cli.timeline import Span, draw, scale


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def test_intervals_lie_on_one_scale() -> None:
    """FA-10: starts are inclusive, ends exclusive; the moment is told from what does not hold then."""
    spans = [Span("old", day(1), day(6)), Span("new", day(6), day(11))]

    assert draw(spans, day(6), width=11) == ["=====|     ", "     #==== "]
    assert scale(spans, day(6), width=24) == "2026-01-01    2026-01-11"


def test_unknown_starts_and_open_ends() -> None:
    """FA-1: what has no start or no end reaches the edge."""
    spans = [Span("from ever", None, day(6)), Span("open", day(6), None), Span("always", None, None)]
    first = Span("first", day(1), day(2))

    assert draw([first, *spans], day(11), width=11)[1:] == ["<====     |", "     =====#", "<=========#"]


def test_the_moment_may_lie_outside_of_all() -> None:
    """FA-10: then the scale reaches to it, and nothing holds."""
    assert draw([Span("past", day(1), day(2))], day(11), width=11) == ["=         |"]


def test_a_single_moment_has_no_length() -> None:
    """FA-1: an interval that ends where it begins is drawn, though it never holds."""
    assert draw([Span("never", day(1), day(1))], day(1), width=5) == ["  |  "]
    assert scale([], day(1), width=12) == " 2026-01-01"


def test_a_short_interval_is_seen() -> None:
    """FA-10: at least one character."""
    assert draw([Span("short", day(1), day(2)), Span("long", day(1), day(31))], day(31), width=5)[0] == "=   |"
