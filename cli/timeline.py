"""Draws intervals over time, one line each, in characters that any terminal shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

_BAR, _MOMENT = "=", "|"
# A start or an end that is not known.
_OPEN_START, _OPEN_END = "<", ">"


@dataclass(frozen=True)
class Span:
    """What holds from `start`, inclusive, to `end`, exclusive; None: as far as anybody asks."""

    label: str
    start: datetime | None
    end: datetime | None

    def holds_at(self, moment: datetime) -> bool:
        """Whether it holds then."""
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)


def draw(spans: Sequence[Span], moment: datetime, width: int) -> list[str]:
    """A line of `width` characters for each span, all on one scale, `moment` marked on each.

    The scale reaches from the earliest to the latest known end, the moment included; a span is at least one character.
    """
    known = [point for span in spans for point in (span.start, span.end) if point is not None] + [moment]
    first, last = min(known), max(known)
    length_s = (last - first).total_seconds()

    def column(point: datetime) -> int:
        if not length_s:
            return width // 2
        return round((point - first).total_seconds() / length_s * (width - 1))

    return [_line(span, moment, width, column(moment), *_ends(span, column, width)) for span in spans]


def scale(spans: Sequence[Span], moment: datetime, width: int) -> str:
    """The first and the last day of the drawing, at its two ends."""
    known = [point for span in spans for point in (span.start, span.end) if point is not None] + [moment]
    first, last = f"{min(known):%Y-%m-%d}", f"{max(known):%Y-%m-%d}"
    return first + last.rjust(width - len(first)) if first != last else first.center(width).rstrip()


def _ends(span: Span, column: Callable[[datetime], int], width: int) -> tuple[int, int]:
    start = 0 if span.start is None else column(span.start)
    # Exclusive, as the span's own end is; one that ends where it begins still shows.
    end = width if span.end is None else column(span.end)
    return start, max(end, start + 1)


def _line(span: Span, moment: datetime, width: int, at: int, start: int, end: int) -> str:
    characters = [_BAR if start <= place < end else " " for place in range(width)]
    if span.start is None:
        characters[0] = _OPEN_START
    if span.end is None:
        characters[-1] = _OPEN_END
    characters[at] = _MOMENT if not span.holds_at(moment) else "#"
    return "".join(characters)
