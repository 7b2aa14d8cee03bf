"""RollbackEmbedding: back to the space that was searched before the last switch (EM-5)."""

from services.writer.commands.switch_embedding import make_active
from services.writer.embedding.changing import changed
from services.writer.embedding_status import SpaceStatus, space_status
from services.writer.passage_store import PassageStore
from shared.database import Connection, Database
from shared.errors import InvalidState


async def rollback_embedding(database: Database, *, timeout_s: float | None) -> SpaceStatus:
    """The space that is searched from now on: the one that was retired last; as it is, where the last change was a
    rollback. What it lacks waits in it. The other one counts as being built, and can be switched to again.

    Raises InvalidState where there is none to go back to: nothing was switched, or it was dropped.
    """

    async def work(connection: Connection) -> SpaceStatus:
        spaces = await PassageStore(connection).spaces()
        active = next((space for space in spaces if space.state == "active"), None)
        if active is not None and active.is_restored:
            return await space_status(connection, active.fingerprint)
        retired = [space for space in spaces if space.state == "retired"]
        if not retired:
            raise InvalidState("NOT_SWITCHED")
        # The statement gives the one that was retired last first.
        await make_active(connection, spaces, retired[0], former="building", is_restored=True)
        return await space_status(connection, retired[0].fingerprint)

    return await changed(database, work, timeout_s=timeout_s)
