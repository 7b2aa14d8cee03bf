"""SwitchEmbedding: another space is searched from now on (EM-5)."""

import asyncio

from services.writer.embedding.changing import changed, no_space, vector_table
from services.writer.embedding.queue_store import QueueStore
from services.writer.embedding.space_store import SpaceStore
from services.writer.embedding_status import SpaceStatus, space_status
from services.writer.passage_store import PassageStore, Space
from shared.database import Connection, Database
from shared.errors import InvalidState

WAITING = "WAITING"
"""The state in which a space cannot be switched to: passages wait in it."""

# Under writes a space that is filled lags behind for moments: one is waited for in which it does not.
_PATIENCE_S = 2.0
_POLL_S = 0.02


async def switch_embedding(
    database: Database, *, fingerprint: str, force: bool, timeout_s: float | None
) -> SpaceStatus:
    """The space of the fingerprint, which is searched from now on, as it was if it was before. Searches that have begun
    end in the space that they began in.

    Raises InvalidField, NotFound, and without `force` InvalidState while passages wait in this space alone. What waits
    in all of them is no obstacle: it is found by words as before.
    """
    vector_table(fingerprint)

    async def work(connection: Connection) -> SpaceStatus | None:
        spaces = await PassageStore(connection).spaces()
        wanted = next((space for space in spaces if space.fingerprint == fingerprint), None)
        if wanted is None:
            raise no_space()
        if wanted.state != "active":
            if not force and not await _is_whole(connection, wanted):
                return None
            await make_active(connection, spaces, wanted, former="retired")
        return await space_status(connection, fingerprint)

    patience_s = _PATIENCE_S if timeout_s is None else min(_PATIENCE_S, timeout_s / 2)
    clock = asyncio.get_running_loop().time
    until = clock() + patience_s
    while (switched := await changed(database, work, timeout_s=timeout_s)) is None:
        if clock() > until:
            raise InvalidState(WAITING)
        await asyncio.sleep(_POLL_S)
    return switched


async def make_active(
    connection: Connection, spaces: list[Space], wanted: Space, *, former: str, is_restored: bool = False
) -> None:
    """Lets a space be searched, and gives the one that was searched the state `former`."""
    store = SpaceStore(connection)
    for space in spaces:
        if space.state == "active":
            await store.set_state(space.fingerprint, former)
    await store.set_state(wanted.fingerprint, "active", is_restored=is_restored)


async def _is_whole(connection: Connection, space: Space) -> bool:
    """Whether nothing waits in the space alone."""
    return space.is_filled and not await QueueStore(connection).waits_in(space.fingerprint)
