"""ListPacks: the built-in packs and every registered version, by name and version."""

from __future__ import annotations

from typing import cast

from services.reader.context import ReadContext
from services.reader.namespaces import registered_packs
from services.reader.pages import Page, PageRequest
from services.reader.store import Snapshot
from shared.domain_packs.built_in import BUILT_IN
from shared.domain_packs.pack import Pack


async def list_packs(context: ReadContext, page: PageRequest) -> Page[str]:
    """A page of packs as JSON."""
    after = cast("tuple[str, int]", page.after(str, int) or ("", 0))

    async def work(snapshot: Snapshot) -> Page[str]:
        registered = await registered_packs(snapshot, after=after, limit=page.limit)
        built_in = [text for pack in BUILT_IN.values() if _place(text := pack.to_json()) > after]
        return Page.cut(sorted([*registered, *built_in], key=_place)[: page.limit], page, _place)

    return await context.snapshot(work)


def _place(definition: str) -> tuple[str, int]:
    pack = Pack.from_json(definition)
    return pack.pack, pack.version
