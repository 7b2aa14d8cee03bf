"""What all feeds of a process keep for those who are a little behind: bounded together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count

from services.reader.watch.metrics import watch_kept_bytes


class Shelf:
    """Holds up to so many bytes, whosever they are, beside what was put there last. What was put there first goes
    first: whoever still waits for that is the slowest."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[int, tuple[int, Callable[[], None]]] = OrderedDict()
        self._places = count()

    def put(self, size: int, drop: Callable[[], None]) -> int:
        """Makes room for something of so many bytes, and answers its place. `drop` is called when it has to go, and
        calls `take`."""
        place = next(self._places)
        self._kept[place] = (size, drop)
        self._add(size)
        while self._bytes > self._most_bytes and (first := next(iter(self._kept))) != place:
            self._kept[first][1]()
        return place

    def take(self, place: int) -> None:
        """What is at a place is there no longer."""
        size, _ = self._kept.pop(place)
        self._add(-size)

    def _add(self, size: int) -> None:
        self._bytes += size
        watch_kept_bytes.inc(size)
