"""ListNamespaces: those that hold something and that the caller's grants name."""

from __future__ import annotations

from typing import cast

from services.reader.pages import Page, PageRequest
from services.reader.store import Store
from shared.authentication.caller import READ, Caller


async def list_namespaces(
    store: Store, caller: Caller, page: PageRequest, *, prefix: str, timeout_s: float
) -> Page[str]:
    """A page of names. Raises PermissionDenied for a caller that may read nothing."""
    caller.require_somewhere(READ)
    granted = caller.namespaces(READ)
    after = page.after(str)
    names = await store.list_namespaces(
        after=cast(str, after[0]) if after else None,
        prefix=prefix,
        exact=[grant for grant in granted if not grant.endswith("*")],
        prefixes=[grant.removesuffix("*") for grant in granted if grant.endswith("*")],
        limit=page.limit,
        timeout_s=timeout_s,
    )
    return Page.cut(names, page, lambda name: (name,))
