"""GetPack: a version of a domain pack."""

from __future__ import annotations

from services.reader.context import ReadContext
from services.reader.namespaces import registered_pack
from services.reader.store import Snapshot
from shared.domain_packs.built_in import BUILT_IN
from shared.errors import NotFound


async def get_pack(context: ReadContext, *, pack: str, version: int) -> str:
    """The pack as JSON, its latest version for 0. Raises NotFound."""
    if (built_in := BUILT_IN.get(pack)) and version in (0, built_in.version):
        return built_in.to_json()

    async def work(snapshot: Snapshot) -> str | None:
        return await registered_pack(snapshot, pack, version)

    definition = await context.snapshot(work)
    if definition is None:
        raise NotFound("pack")
    return definition
