"""RegisterPack: a version of a domain pack, once and for ever (DP-1)."""

from services.writer.namespace_store import NamespaceStore
from services.writer.namespaces.pack_checks import pack_violations
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.domain_packs.pack import Pack
from shared.errors import InvalidField, PackVersionConflict


async def register_pack(
    database: Database, *, namespace: str, definition: str, content_hash: str, by: str, timeout_s: float | None
) -> tuple[bool, str]:
    """Whether the same was stored before, and a token by which reads see it. `definition` is the pack as JSON.

    Raises InvalidField; PackVersionConflict where the version is stored with other content.
    """
    pack = Pack.from_json(definition)
    if found := pack_violations(pack, "pack"):
        raise InvalidField(found)

    async def work(connection: Connection) -> bool:
        store = NamespaceStore(connection)
        if await store.insert_pack(namespace, pack, definition, content_hash):
            await audit.append(
                connection,
                namespace,
                action="register_pack",
                actor=by,
                target=f"pack:{pack.pack}:{pack.version}",
                details={"content_hash": content_hash},
            )
            return False
        if await store.pack_hash(namespace, pack.pack, pack.version) != content_hash:
            raise PackVersionConflict(pack=pack.pack, version=pack.version)
        return True

    duplicate = await database.transaction(work, timeout_s=timeout_s)
    return duplicate, encode(await database.write_position())
