"""What retaining an article and a document have in common: one observation, recognised when it comes again (DO-1)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from services.writer.applier import Applier
from services.writer.document_store import DocumentStore, VaultRun
from services.writer.recording import Outcome, PreparedObservation, Recorded
from services.writer.steps.standing import settle_standing
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidState, NotFound, ObservationConflict, PalimpsestError

Prepare = Callable[[datetime], Awaitable[PreparedObservation]]
"""Makes the observation, where the caller does not say when it happened, at the moment that is given."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text to retain. `undated_id`: the observation's id, where only its source identifies it and not the moment."""

    namespace: str
    entity_key: str
    undated_id: str | None
    vault_run_id: str = ""


@dataclass(frozen=True, slots=True)
class Retained:
    """What became of a text."""

    recorded: Recorded
    chunk_count: int
    token: str


async def retain(
    database: Database, applier: Applier, prepare: Prepare, text: Text, *, timeout_s: float | None
) -> Retained:
    """Stores a text as one observation. Raises ObservationConflict, and of its vault run NotFound and InvalidState."""
    try:
        return await _retain(database, applier, prepare, text, timeout_s)
    except ObservationConflict:
        # Two calls of one event at once have two moments: the second one takes that of the first.
        if text.undated_id is None:
            raise
        return await _retain(database, applier, prepare, text, timeout_s)


async def _retain(
    database: Database, applier: Applier, prepare: Prepare, text: Text, timeout_s: float | None
) -> Retained:
    item = await prepare(await _moment(database, text, timeout_s))
    chunk_counts: list[int] = []

    async def also(connection: Connection, outcomes: Sequence[Outcome]) -> None:
        packs = await applier.packs.acting_in([text.namespace])
        entity_key = packs[text.namespace].key(text.entity_key)
        if text.vault_run_id:
            await _meet(connection, text, entity_key, item.observation_id, outcomes[0])
        chunk_counts[:] = [await DocumentStore(connection, text.namespace).count_chunks(entity_key)]

    # A vault is many texts, one a call.
    writing = applier.for_bulk() if text.vault_run_id else applier
    [outcome], position = await writing.apply_at([item], timeout_s=timeout_s, also=also)
    if isinstance(outcome, PalimpsestError):
        raise outcome
    return Retained(outcome, chunk_counts[0], encode(position))


async def _moment(database: Database, text: Text, timeout_s: float | None) -> datetime:
    """Now; for an event that is stored already, when that happened."""
    stored = None
    if text.undated_id is not None:
        async with database.connection(timeout_s) as connection:
            stored = await DocumentStore(connection, text.namespace).occurred_at(text.undated_id)
    return stored or datetime.now(UTC)


async def _meet(connection: Connection, text: Text, entity_key: str, observation_id: str, outcome: Outcome) -> None:
    """Notes that the run met the text, even where it is a duplicate, or stored with other particulars."""
    documents = DocumentStore(connection, text.namespace)
    run = open_run(await documents.hold_vault_run(text.vault_run_id))
    written = outcome.entity_keys if isinstance(outcome, Recorded) and not outcome.duplicate else ()
    await documents.meet_observation(run, observation_id, entity_key, is_new=bool(written))
    await settle_standing(connection, {(text.namespace, key) for key in written}, set())


def open_run(run: VaultRun | None) -> VaultRun:
    """The run, if it is there and open. Raises NotFound and InvalidState."""
    if run is None:
        raise NotFound("vault_run")
    if run.completed_at is not None:
        raise InvalidState("COMPLETED")
    return run
