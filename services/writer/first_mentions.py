"""Statements of which each may be the first to name something go one after the other.

The second would wait for the first at the row, and then end as a conflict: what it took for new is there. All that it
wrote would be undone, and written again in steps. So it waits before it begins, and finds the row.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Set
from contextlib import asynccontextmanager
from itertools import takewhile
from typing import TypeAlias

Name: TypeAlias = tuple[str, str]
"""A namespace, and the key of an entity in it."""

# What takes longer waits for a lock, perhaps, that those behind it need not wait for.
PATIENCE_S = 1.0
_MOST_KNOWN = 10_000


class FirstMentions:
    """The statements of this process that are under way, by what they may name first. Of those of other processes the
    database tells."""

    def __init__(self) -> None:
        self._under_way: dict[asyncio.Future[None], Set[Name]] = {}
        # What was lately written. If it was erased since, the work is done that this is to spare, and no harm.
        self._known: OrderedDict[Name, None] = OrderedDict()

    @asynccontextmanager
    async def in_turn(self, names: Set[Name], *, timeout_s: float | None) -> AsyncIterator[Callable[[], None]]:
        """Runs the block once those that came before and may name one of these first have ended, or take too long;
        begins it at the latest after `timeout_s`. The block calls what it is given when all is written."""
        loop = asyncio.get_running_loop()
        until = None if timeout_s is None else loop.time() + timeout_s
        mine = loop.create_future()
        self._under_way[mine] = names
        try:
            while ahead := self._ahead_of(mine, names):
                left_s = None if until is None else max(0.0, until - loop.time())
                ended, _ = await asyncio.wait(ahead, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
                if not ended:
                    break
            patience = loop.call_later(PATIENCE_S, self._pass, mine)
            try:
                yield lambda: self._written(mine, names)
            finally:
                patience.cancel()
        finally:
            self._pass(mine)

    def _ahead_of(self, one: asyncio.Future[None], names: Set[Name]) -> list[asyncio.Future[None]]:
        """Those before this one that name the same, but for what has been written by now."""
        before = list(takewhile(lambda other: other is not one, self._under_way))
        new = {name for name in names if name not in self._known} if before else names
        return [other for other in before if not self._under_way[other].isdisjoint(new)]

    def _written(self, one: asyncio.Future[None], names: Set[Name]) -> None:
        self._known.update(dict.fromkeys(names))
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        self._pass(one)

    def _pass(self, one: asyncio.Future[None]) -> None:
        if self._under_way.pop(one, None) is not None:
            one.set_result(None)
