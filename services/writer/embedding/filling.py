"""Filling a space with what was there before it, part by part, whichever replica is at it (EM-5).

Passages are looked through once, in the order of their keys. Those without a vector in the space wait in its backlog, a
bounded number at a time. What is written meanwhile waits there by itself.
"""

from services.writer.embedding.lineup import STATEMENT_TIMEOUT_S
from services.writer.embedding.space_store import SpaceStore
from services.writer.passage_store import Space
from shared.database import Connection, Database

_PASSAGES_A_PART = 1_000


async def fill_on(database: Database, space: Space) -> int:
    """Looks through the next part; answers how many passages that were. Those without a vector wait in the space now.

    None where it is filled, and where another replica is at it.
    """

    async def work(connection: Connection) -> int:
        store = SpaceStore(connection)
        so_far = await store.lock_filling(space.fingerprint)
        if so_far is None:
            return 0
        look = await store.look_through(space, so_far, _PASSAGES_A_PART)
        # What is written behind the last one waits in all spaces.
        is_filled = look.number < _PASSAGES_A_PART
        await store.note_filling(space.fingerprint, look.namespace, look.passage_id, is_filled=is_filled)
        return look.number

    return await database.transaction(work, timeout_s=STATEMENT_TIMEOUT_S)
