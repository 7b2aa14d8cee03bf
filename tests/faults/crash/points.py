"""The points at which processes are killed: each is a passage through a function of the product, as it is.

Nothing of this is in the product: `dying.arm` puts itself around the function, in the process that is to die.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Moment(Enum):
    """When in the passage it dies."""

    BEFORE = "before"
    DURING = "during"
    """When the function has begun, and waits for somebody else for the first time: a statement or a call is sent."""
    AFTER = "after"


@dataclass(frozen=True)
class Point:
    """A function, and when in a passage through it the process dies."""

    name: str
    place: str
    """`module:function` or `module:Class.method`: where it is looked up when it is called."""
    moment: Moment
    passages: int = 1
    """It dies at one of the first so many passages."""
    counts: Callable[..., bool] = lambda *arguments, **options: True
    """Which calls are passages, by their arguments."""


def _is_commit(connection: Any, query: str, *arguments: Any, **options: Any) -> bool:
    return query == "COMMIT"


def _is_first_state(store: Any, fingerprint: str, state: str, **options: Any) -> bool:
    return state != "active"


_B, _D, _A = Moment.BEFORE, Moment.DURING, Moment.AFTER
_WRITER, _SHARED = "services.writer", "shared.database"
_APPLIER, _AT_ONCE = f"{_WRITER}.applier", f"{_WRITER}.steps.at_once"
_WORK, _EMBEDDING = f"{_WRITER}.embedding.work:Work", f"{_WRITER}.embedding"
_COMMANDS = f"{_WRITER}.commands"
_SERVICER = f"{_WRITER}.servicer:WriterServicer"

RECORDING = (
    Point("record: before the group", f"{_WRITER}.group_commit:GroupCommit._apply_group", _B, 2),
    Point("record: before the claim, one statement", f"{_AT_ONCE}:write_at_once", _B, 6),
    Point("record: the one statement is under way", f"{_AT_ONCE}:write_at_once", _D, 6),
    Point("record: the one statement is committed", f"{_AT_ONCE}:write_at_once", _A, 6),
    Point("record: before the claim", f"{_APPLIER}:_lock", _B, 6),
    Point("record: the claim is under way", f"{_APPLIER}:_lock", _D, 6),
    Point("record: claimed", f"{_APPLIER}:_lock", _A, 6),
    Point("record: entities are written", f"{_APPLIER}:write_entities", _A, 4),
    Point("record: facts are written", f"{_APPLIER}:write_facts", _A, 4),
    Point("record: documents are written", f"{_APPLIER}:write_documents", _A, 4),
    Point("record: passages are written", f"{_APPLIER}:write_passages", _A, 4),
    Point("record: links are written", f"{_APPLIER}:write_links", _A, 4),
    Point("record: before the commit", f"{_APPLIER}:Applier._write", _A, 6),
    Point("record: committed, before the position", f"{_SHARED}:_position", _B, 6),
    Point("record: the position is read", f"{_SHARED}:_position", _A, 6),
    Point("record: before the answer to one", f"{_SERVICER}.RecordObservation", _A, 6),
    Point("record: before the answer to a batch", f"{_SERVICER}.BatchRecordObservations", _A, 3),
    Point("record: before the answers of a stream", f"{_COMMANDS}.stream_observations:apply_good", _A, 3),
    Point("transaction: before the commit", f"{_SHARED}:_Session.execute", _B, 12, _is_commit),
    Point("transaction: the commit is under way", f"{_SHARED}:_Session.execute", _D, 12, _is_commit),
    Point("transaction: after the commit", f"{_SHARED}:_Session.execute", _A, 12, _is_commit),
    Point("statement: under way", f"{_SHARED}:_Session.fetch", _D, 60),
    Point("statement: between two", f"{_SHARED}:_Session.fetch", _A, 60),
    Point("redact: erased, before the receipt", f"{_COMMANDS}.redact_observation:keep_receipt", _B),
    Point("redact: the receipt is written", f"{_COMMANDS}.redact_observation:keep_receipt", _A),
    Point("redact: before the answer", f"{_WRITER}.erasure.servicer:redact_observation", _A),
    Point("audit: the event is appended", f"{_COMMANDS}.append_audit:audit.append_told", _A),
)
EMBEDDING = (
    Point("embed: claimed", f"{_WORK}._claim", _A, 8),
    Point("embed: before equal texts are looked for", f"{_WORK}._copy", _B, 3),
    Point("embed: the embedder is called", f"{_EMBEDDING}_batch:_embed", _D, 3),
    Point("embed: embedded, before it is stored", f"{_WORK}._embed", _A, 3),
    Point("embed: vectors are inserted", f"{_EMBEDDING}.queue_store:QueueStore.insert_vectors", _A, 3),
    Point("embed: the queue is left", f"{_EMBEDDING}.queue_store:QueueStore.finish", _A, 3),
    Point("embed: stored", f"{_WORK}._store", _A, 3),
)
VAULT = (
    Point("vault: begun", f"{_WRITER}.documents.servicer:begin_vault_run", _A),
    Point("vault: a text is met", f"{_WRITER}.retaining:_meet", _A, 4),
    Point("vault: before the answer to a text", f"{_WRITER}.documents.servicer:retain_article", _A, 4),
    Point("vault: before the sweep", f"{_COMMANDS}.complete_vault_run:erase_observations", _B),
    Point("vault: swept, the run is open", f"{_COMMANDS}.complete_vault_run:erase_observations", _A),
    Point("vault: complete, before the commit", f"{_COMMANDS}.complete_vault_run:_complete", _A),
    Point("vault: before the answer to the end", f"{_WRITER}.documents.servicer:complete_vault_run", _A),
)
CURATION = (
    Point("curate: before a step", f"{_COMMANDS}.run_curation:_step", _B, 4),
    Point("curate: the cursor is moved", f"{_WRITER}.curation_store:CurationStore.move_cursor", _A, 6),
    Point("curate: the pass is whole, before the commit", f"{_WRITER}.curation_store:CurationStore.delete_cursors", _A),
    Point("curate: before the answer", f"{_WRITER}.servicer:run_curation", _A),
    Point("curate: the namespace is claimed", f"{_WRITER}.curation_loop:CurationLoop._claim", _A),
)
MODEL_CHANGE = (
    Point("model: the space is made, before the commit", f"{_COMMANDS}.start_reembedding:_make", _A),
    Point("model: before the answer to the start", f"{_EMBEDDING}.servicer:start_reembedding", _A),
    Point("model: looked through, the cursor stays", f"{_EMBEDDING}.space_store:SpaceStore.look_through", _A, 2),
    Point("model: a part waits in the space", f"{_EMBEDDING}_loop:fill_on", _A, 2),
    Point("model: one is searched no more, none is yet", f"{_EMBEDDING}.space_store:SpaceStore.set_state", _A, 1,
          _is_first_state),
    Point("model: switched, before the commit", f"{_COMMANDS}.switch_embedding:make_active", _A),
    Point("model: before the answer to the switch", f"{_EMBEDDING}.servicer:switch_embedding", _A),
    Point("model: the old space is deleted", f"{_EMBEDDING}.space_store:SpaceStore.delete_space", _A),
    Point("model: the old vectors are dropped", f"{_EMBEDDING}.space_store:SpaceStore.drop_vector_table", _A),
    Point("model: before the answer to the drop", f"{_EMBEDDING}.servicer:drop_embedding", _A),
)  # fmt: skip
MIGRATION = (
    Point("migrate: before the lock", "shared.schema.migrate:check_server", _A),
    Point("migrate: before a migration", "shared.schema.migrate:_apply", _B, 20),
    Point("migrate: a migration is under way", "shared.schema.migrate:_apply", _D, 20),
    Point("migrate: a migration is noted", "shared.schema.migrate:_apply", _A, 20),
    Point("migrate: before the commit", "shared.schema.migrate:_apply_pending", _A),
    Point("migrate: committed", "shared.schema.migrate:_migrate_when_up", _A),
)
READING = (
    Point("read: before the snapshot", "services.reader.store:Store.snapshot", _B, 6),
    Point("read: the snapshot is under way", "services.reader.store:Store.snapshot", _D, 6),
    Point("read: before the answer", "services.reader.servicer:ReaderServicer.GetObservation", _A, 3),
    Point("search: before the answer", "services.reader.servicer:ReaderServicer.Search", _A, 3),
    Point("pack: before its trace is left", "services.reader.contexts.trace_store:TraceStore.leave", _B, 2),
    Point("pack: before the answer", "services.reader.contexts.servicer:ContextRpcs.CompileContext", _A, 2),
)
EMBEDDER = (
    Point("model run: before it", "services.embedder.embedding:Embedder.embed", _B, 4),
    Point("model run: under way", "services.embedder.embedding:Embedder.embed", _D, 4),
    Point("model run: before the answer", "services.embedder.servicer:EmbedderServicer.Embed", _A, 4),
)
INGEST = (
    Point("ingest: a text is stored", "cli.retaining:Retainer._one", _A, 5),
    Point("ingest: all texts are stored, the run is open", "cli.commands.ingest:show", _A),
    Point("ingest: before it tells what was removed", "cli.commands.ingest:_tell_removed", _B),
)

WRITER = (*RECORDING, *EMBEDDING, *VAULT, *CURATION, *MODEL_CHANGE)
POINTS = {point.name: point for point in (*WRITER, *MIGRATION, *READING, *EMBEDDER, *INGEST)}
