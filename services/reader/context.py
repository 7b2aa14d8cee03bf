"""What a query works with: the store, the caller's view and the time that it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from services.reader.store import Snapshot, Store
from services.reader.view import View
from shared.errors import NotFound

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadContext:
    """One call's access to the store."""

    store: Store
    view: View
    timeout_s: float
    primary: Store | None = None
    """The primary's store, where `store` is a replica's."""

    async def snapshot(self, work: Callable[[Snapshot], Awaitable[T]]) -> T:
        """Runs `work` on one state of the database."""
        return await self.store.snapshot(self.view, work, timeout_s=self.timeout_s)

    async def with_left(self, read: Callable[[ReadContext], Awaitable[T]]) -> T:
        """What `read` finds of something that readers leave: a trace, or a pack. They are left at the primary, and a
        replica may not have them yet, so what is not found there is looked for at the primary."""
        try:
            return await read(self)
        except NotFound:
            if self.primary is None:
                raise
        return await read(replace(self, store=self.primary, primary=None))
