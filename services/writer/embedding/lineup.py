"""Which spaces there are, and which of them can be filled now."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.writer.embedding.space_store import SpaceStore
from services.writer.embedding_batch import Embedder
from services.writer.passage_store import PassageStore, Space
from shared.database import Connection, Database

STATEMENT_TIMEOUT_S = 30.0
_MODEL_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Lineup:
    """Stored spaces, the active one first, and the fingerprints of the models that are served."""

    spaces: Sequence[Space]
    served: Sequence[str]

    @property
    def fillable(self) -> list[Space]:
        """Spaces whose models are served. Of a text that waits in all, the first gets the vector first."""
        return [space for space in self.spaces if space.fingerprint in self.served]

    @property
    def active(self) -> Space | None:
        """The space that is searched."""
        return next((space for space in self.spaces if space.state == "active"), None)

    @property
    def is_mismatched(self) -> bool:
        """Whether models are served, but not the active space's, so that searches by meaning are degraded (EM-4)."""
        active = self.active
        return active is not None and bool(self.served) and active.fingerprint not in self.served


async def line_up(database: Database, embedder: Embedder) -> Lineup:
    """The spaces and models of now. Where there is no space yet, the first model that is served makes the active one.

    Raises what transactions raise; no error where no embedder answers.
    """
    served = await embedder.served_spaces(_MODEL_TIMEOUT_S)

    async def work(connection: Connection) -> list[Space]:
        store = PassageStore(connection)
        spaces = await store.spaces()
        if spaces or not served:
            return spaces
        await SpaceStore(connection).lock_spaces()
        # Another replica may have been first.
        if not await store.spaces():
            await SpaceStore(connection).insert_space(served[0], "active")
        return await store.spaces()

    spaces = await database.transaction(work, timeout_s=STATEMENT_TIMEOUT_S)
    return Lineup(spaces, [space.fingerprint for space in served])
