"""StartReembedding: vectors of another model, built beside those that are searched (EM-5)."""

from collections.abc import Sequence

from services.writer.embedding.changing import changed, vector_table
from services.writer.embedding.space_store import SpaceStore
from services.writer.embedding_batch import Embedder
from services.writer.embedding_status import SpaceStatus, space_status
from services.writer.passage_store import PassageStore, Space
from shared.database import Connection, Database
from shared.errors import AmbiguousMatch, EmbedderUnavailable, InvalidState, ModelMismatch

_MODEL_TIMEOUT_S = 5.0
# What an index of halfvec can have (pgvector).
_MOST_DIMENSIONS = 4_000


async def start_reembedding(
    database: Database, embedder: Embedder, *, fingerprint: str, timeout_s: float | None
) -> SpaceStatus:
    """The space of the fingerprint, or where that is empty of the one model that is served and not searched yet. It is
    made, if it is not there; the embedding loops fill it.

    Raises InvalidField, InvalidState where it is the active one or has too many dimensions, AmbiguousMatch where
    several models are served that are not searched, ModelMismatch where the fingerprint's is not served, and
    EmbedderUnavailable.
    """
    if fingerprint:
        vector_table(fingerprint)
    served = await embedder.served_spaces(_MODEL_TIMEOUT_S)

    async def work(connection: Connection) -> SpaceStatus:
        spaces = {space.fingerprint: space for space in await PassageStore(connection).spaces()}
        wanted = fingerprint or _other(served, spaces)
        if wanted in spaces and spaces[wanted].state == "active":
            raise InvalidState("ACTIVE")
        if wanted not in spaces:
            await _make(SpaceStore(connection), _served(served, wanted), is_first=not spaces)
        return await space_status(connection, wanted)

    return await changed(database, work, timeout_s=timeout_s)


def _other(served: Sequence[Space], spaces: dict[str, Space]) -> str:
    """The model to change to: one that is served and not searched, of which some may be built already."""
    active = [space.fingerprint for space in spaces.values() if space.state == "active"]
    others = list(dict.fromkeys(space.fingerprint for space in served if space.fingerprint not in active))
    others = [each for each in others if each not in spaces] or others
    if len(others) > 1:
        raise AmbiguousMatch(others)
    if not others:
        raise EmbedderUnavailable if not served else InvalidState("ACTIVE")
    return others[0]


def _served(served: Sequence[Space], wanted: str) -> Space:
    found = next((space for space in served if space.fingerprint == wanted), None)
    if found is None:
        if not served:
            raise EmbedderUnavailable
        names = ", ".join(space.fingerprint for space in served)
        raise ModelMismatch(expected=wanted, served=names, remedy="start an embedder of that model beside the others")
    if found.dimension > _MOST_DIMENSIONS:
        raise InvalidState(f"DIMENSION_ABOVE_{_MOST_DIMENSIONS}")
    return found


async def _make(store: SpaceStore, space: Space, *, is_first: bool) -> None:
    # Of a space of this fingerprint that was dropped, something may be left whose labels nobody has kept since.
    if await store.lock_vector_table(space.table_name):
        await store.drop_vector_table(space.table_name)
    await store.insert_space(space, "active" if is_first else "building")
