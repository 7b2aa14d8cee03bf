"""What a call does while it waits for others: it takes no place that they could use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol


class Places(Protocol):
    """Who counts the calls that are worked on."""

    def resting(self) -> AbstractContextManager[None]:
        """One of these calls is not, for as long as it takes."""


_places: ContextVar[Places | None] = ContextVar("places", default=None)


@contextmanager
def counted_by(places: Places) -> Iterator[None]:
    """The call under way has a place among these."""
    token = _places.set(places)
    try:
        yield
    finally:
        _places.reset(token)


@contextmanager
def resting() -> Iterator[None]:
    """The call under way waits for something that it does not do itself, for which others need not be refused."""
    places = _places.get()
    if places is None:
        yield
        return
    with places.resting():
        yield
