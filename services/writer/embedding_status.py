"""What is known of vectors and of what waits for one."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.writer.embedding.queue_store import QueueStore, Waiting
from services.writer.embedding.space_store import SpaceStore
from services.writer.passage_store import PassageStore, Space
from shared.database import Connection


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """A space, its number of vectors, and what waits in it, including what waits in all."""

    space: Space
    vectors: int
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """The spaces, the active one first, the models that are served now, and what waits where there is no space yet."""

    spaces: Sequence[SpaceStatus]
    served: Sequence[str]
    waiting: Waiting

    @property
    def mismatch(self) -> bool:
        """Whether models are served, but not the active space's (EM-4)."""
        active = [each.space.fingerprint for each in self.spaces if each.space.state == "active"]
        return bool(self.served) and any(fingerprint not in self.served for fingerprint in active)

    @property
    def of_active(self) -> Waiting:
        """What waits in the space that is searched."""
        return next((each.waiting for each in self.spaces if each.space.state == "active"), self.waiting)


async def waiting_by_space(connection: Connection) -> list[tuple[Space, Waiting]]:
    """What waits in each space: what waits in all, in that one alone, and what it is yet to be filled with."""
    queue, spaces = QueueStore(connection), await PassageStore(connection).spaces()
    in_all, in_one = await queue.queue_summary(), await queue.backlog_summary()
    found = []
    for space in spaces:
        unseen = 0 if space.is_filled else await SpaceStore(connection).count_unseen(space.fingerprint)
        found.append((space, in_all + in_one.get(space.fingerprint, Waiting()) + Waiting(unseen)))
    return found


async def space_statuses(connection: Connection) -> list[SpaceStatus]:
    """All spaces with what is in them and what waits."""
    store = SpaceStore(connection)
    return [
        SpaceStatus(space, await store.count_vectors(space.table_name), waiting)
        for space, waiting in await waiting_by_space(connection)
    ]


async def space_status(connection: Connection, fingerprint: str) -> SpaceStatus:
    """One of them. Raises StopIteration where it is not there."""
    return next(each for each in await space_statuses(connection) if each.space.fingerprint == fingerprint)
