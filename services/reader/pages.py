"""Pages of lists: their size, and where the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared import page_token
from shared.page_token import Query, Scalar

T = TypeVar("T")

DEFAULT_SIZE = 50


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page of which query is asked for."""

    size: int
    token: str
    query: Query
    """All of the request but the page: what the token is bound to."""

    @property
    def limit(self) -> int:
        """Items to read: one more than the page holds tells whether there is another."""
        return (self.size or DEFAULT_SIZE) + 1

    def after(self, *types: type) -> tuple[Scalar, ...] | None:
        """The sort keys of the last item of the former page; None for the first page. Raises InvalidPageToken."""
        return page_token.decode(self.token, self.query, types) if self.token else None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items of one page."""

    items: Sequence[T]
    next_token: str

    @classmethod
    def cut(cls, items: Sequence[T], request: PageRequest, position: Callable[[T], Sequence[Scalar]]) -> Page[T]:
        """The page of items that were read with `request.limit`; `position` gives an item's sort keys."""
        kept = items[: request.limit - 1]
        has_more = len(items) > len(kept)
        return cls(kept, page_token.encode(request.query, position(kept[-1])) if has_more else "")
