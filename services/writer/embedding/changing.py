"""Changes of spaces need locks on tables that all search: tried again and again, so that nobody waits behind them."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.writer.embedding.space_store import SpaceStore
from shared.database import Connection, Database
from shared.errors import InvalidField, NotFound, Violation, WriteContention

T = TypeVar("T")

_FINGERPRINT = re.compile(r"fp-([0-9a-f]{24})")
# For so long searches and writes may wait behind a change that waits for others.
_LOCK_TIMEOUT_MS = 200
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
# Where the call has no deadline.
_TIMEOUT_S = 60.0


def vector_table(fingerprint: str) -> str:
    """The table of a space's vectors. Raises InvalidField for what is no fingerprint."""
    digits = _FINGERPRINT.fullmatch(fingerprint)
    if digits is None:
        raise InvalidField([Violation("fingerprint", "must be fp- and 24 hexadecimal digits")])
    return f"vectors_{digits[1]}"


def no_space() -> NotFound:
    """What a space that is not there is answered with."""
    return NotFound("embedding_space")


async def changed(database: Database, work: Callable[[Connection], Awaitable[T]], *, timeout_s: float | None) -> T:
    """What `work` answers, which changes spaces in one transaction: alone, and waiting for no lock for long. Raises
    DeadlineExceeded, where locks were to be had at no time, and what transactions raise."""
    pause_s = _FIRST_PAUSE_S

    async def attempt(connection: Connection) -> T:
        store = SpaceStore(connection)
        await store.lock_spaces()
        await store.let_few_wait(_LOCK_TIMEOUT_MS)
        return await work(connection)

    clock = asyncio.get_running_loop().time
    until = clock() + (_TIMEOUT_S if timeout_s is None else timeout_s)
    while True:
        try:
            return await database.transaction(attempt, timeout_s=max(0.001, until - clock()))
        except WriteContention:
            if clock() + pause_s > until:
                raise
        await asyncio.sleep(random.uniform(0, pause_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
