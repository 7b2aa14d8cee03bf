"""What callers wait for, and the pieces of it that are run."""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from shared.errors import DeadlineExceeded

WorkT = TypeVar("WorkT")
ResultT = TypeVar("ResultT")


@dataclass(slots=True, eq=False)
class Request(Generic[ResultT]):
    """One caller's items. `done` is the caller's: cancelled, when it has gone."""

    caller: Hashable
    urgent: bool
    results: list[ResultT | Exception | None]
    missing: int
    queued_tokens: int
    """Size of those of its items that wait."""
    deadline: float | None
    queued_at: float
    done: asyncio.Future[list[ResultT | Exception]]

    def is_wanted(self, now: float) -> bool:
        """Says whether it is still waited for; fails it when its deadline has passed."""
        if not self.done.done() and self.deadline is not None and now >= self.deadline:
            self.done.set_exception(DeadlineExceeded())
        return not self.done.done()

    def answer(self, index: int, result: ResultT | Exception) -> None:
        """Keeps the result of one item, and hands all of them to the caller when it was the last."""
        self.results[index] = result
        self.missing -= 1
        if not self.missing and not self.done.done():
            self.done.set_result(cast("list[ResultT | Exception]", self.results))


@dataclass(slots=True, eq=False)
class Item(Generic[WorkT, ResultT]):
    """A piece of a request's work."""

    request: Request[ResultT]
    index: int
    work: WorkT
    tokens: int

    @property
    def caller(self) -> Hashable:
        """Who waits for it."""
        return self.request.caller

    @property
    def urgent(self) -> bool:
        """Whether it goes before what is not."""
        return self.request.urgent
