"""Waiting until the embedding loop, of whichever replica, has caught up with what was written."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from services.writer.passage_store import PassageStore
from shared.database import Database
from shared.errors import DeadlineExceeded
from shared.resting import resting

_FIRST_POLL_S = 0.02
_LONGEST_POLL_S = 0.25


async def until_none_wait(count: Callable[[], Awaitable[int]], timeout_s: float) -> None:
    """Returns when `count` answers 0. Raises DeadlineExceeded after `timeout_s`."""
    poll_s = _FIRST_POLL_S
    try:
        async with asyncio.timeout(timeout_s):
            while await count():
                with resting():
                    await asyncio.sleep(poll_s)
                poll_s = min(poll_s * 1.5, _LONGEST_POLL_S)
    except TimeoutError:
        raise DeadlineExceeded from None


async def until_embedded(
    database: Database, *, namespace: str, observation_ids: Sequence[str], timeout_s: float
) -> None:
    """Returns when all passages of what the observations wrote have vectors, or never will. Raises DeadlineExceeded."""

    async def count() -> int:
        async with database.connection(timeout_s) as connection:
            return await PassageStore(connection).count_of_observations(namespace, observation_ids)

    await until_none_wait(count, timeout_s)
