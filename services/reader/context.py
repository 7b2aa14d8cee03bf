"""What a query works with: the store, the caller's view and the time that it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from services.reader.store import Snapshot, Store
from services.reader.view import View

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadContext:
    """One call's access to the store."""

    store: Store
    view: View
    timeout_s: float

    async def snapshot(self, work: Callable[[Snapshot], Awaitable[T]]) -> T:
        """Runs `work` on one state of the database."""
        return await self.store.snapshot(self.view, work, timeout_s=self.timeout_s)
