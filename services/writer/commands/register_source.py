"""RegisterSource: a source with its authority and state (DO-9)."""

from services.writer.applier import namespace_lock_key
from services.writer.source_store import RegisteredSource, SourceKey, SourceStore
from services.writer.steps.receipts import source_told
from services.writer.steps.withdrawal import settle_source
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database


async def register_source(
    database: Database,
    key: SourceKey,
    *,
    authority: float,
    state: int,
    description: str,
    by: str,
    timeout_s: float | None,
) -> tuple[RegisteredSource, str]:
    """The source as it is now, and a token. What it hid is there again, and what it hides is gone, at once."""

    async def work(connection: Connection) -> RegisteredSource:
        await Store(connection).lock_namespaces([(namespace_lock_key(key[0]), True)])
        store = SourceStore(connection)
        source = await store.register_source(key, authority=authority, state=state, description=description, by=by)
        hidden = await settle_source(connection, key)
        target, said = source_told(key)
        details = {"authority": authority, "state": state, "chunks": hidden.chunks, **said}
        details |= audit.described(key[0], description=description)
        await audit.append(connection, key[0], action="register_source", actor=by, target=target, details=details)
        return source

    source = await database.transaction(work, timeout_s=timeout_s)
    return source, encode(await database.write_position())
