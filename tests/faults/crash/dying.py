"""Lets this process die by SIGKILL at a point, as if the machine had been switched off there."""

import functools
import importlib
import inspect
import os
import signal
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.faults.crash.points import POINTS, Moment, Point


@dataclass(frozen=True)
class Shot:
    """At which passage through which point a process dies. Plain, so that it can be sent to the process."""

    point: str
    passage: int


def die() -> None:
    """Ends this process at once: nothing is flushed, closed or answered."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(shot: Shot) -> None:
    """Puts itself around the function of the point. Raises AttributeError where that is no more."""
    point = POINTS[shot.point]
    holder, name = place_of(point)
    original = getattr(holder, name)
    passages = _Passages(point, shot.passage)
    setattr(holder, name, (_armed if inspect.iscoroutinefunction(original) else _armed_plain)(original, passages))


def place_of(point: Point) -> tuple[Any, str]:
    """What has the function of a point, and the name by which. Raises AttributeError where it is no more."""
    module, _, path = point.place.partition(":")
    *holders, name = path.split(".")
    return functools.reduce(getattr, holders, importlib.import_module(module)), name


class _Passages:
    """Counts passages, up to the deadly one."""

    def __init__(self, point: Point, deadly: int) -> None:
        self.moment = point.moment
        self._counts = point.counts
        self._left = deadly

    def is_deadly(self, *arguments: Any, **options: Any) -> bool:
        """Whether the passage that begins is the one."""
        if self._counts(*arguments, **options):
            self._left -= 1
            return self._left == 0
        return False


def _armed(original: Any, passages: _Passages) -> Any:
    @functools.wraps(original)
    async def passed(*arguments: Any, **options: Any) -> Any:
        is_deadly = passages.is_deadly(*arguments, **options)
        if is_deadly and passages.moment is Moment.BEFORE:
            die()
        if is_deadly and passages.moment is Moment.DURING:
            await _Begun(original(*arguments, **options))
        result = await original(*arguments, **options)
        if is_deadly:
            die()
        return result

    return passed


def _armed_plain(original: Any, passages: _Passages) -> Any:
    @functools.wraps(original)
    def passed(*arguments: Any, **options: Any) -> Any:
        is_deadly = passages.is_deadly(*arguments, **options)
        if is_deadly and passages.moment is Moment.BEFORE:
            die()
        result = original(*arguments, **options)
        if is_deadly:
            die()
        return result

    return passed


class _Begun:
    """A coroutine that is run until it waits for the first time; then the process dies."""

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, None, None]:
        # It may wait for nobody.
        with suppress(StopIteration):
            self._coroutine.send(None)
        die()
        yield
