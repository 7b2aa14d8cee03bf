"""Previews that cannot be wrong: the work is done, and taken back (AU-4)."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from shared.database import Connection, Database

T = TypeVar("T")


class _TakenBackError(Exception):
    """The work is done, and must not stay."""


async def previewed(database: Database, work: Callable[[Connection], Awaitable[T]], *, timeout_s: float | None) -> T:
    """What `work` answers, in a transaction that is rolled back. Its locks are held, and waited for, as in earnest."""
    answers: list[T] = []

    async def attempt(connection: Connection) -> None:
        answers[:] = [await work(connection)]
        raise _TakenBackError

    with suppress(_TakenBackError):
        await database.transaction(attempt, timeout_s=timeout_s)
    return answers[0]
