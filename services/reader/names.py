"""Other names of things: the forms of keys and the names of kinds that the packs of a namespace know (DP-1).

Like merges they are of the present: what was known at a moment is asked for by the keys that things have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from services.reader.merges import keys_of
from services.reader.namespaces import acting
from services.reader.rows import Filter
from services.reader.store import Snapshot
from shared.domain_packs.key_forms import KeyForms
from shared.domain_packs.pack import Pack

_REMEMBERED_SETTINGS = 1_000


async def forms_of(snapshot: Snapshot, *keys: str) -> list[str]:
    """The keys that these stand for, and these: what was written before a pack was enabled has the key it was given."""
    forms = await _forms(snapshot)
    return list(dict.fromkeys(form for key in keys for form in (forms.key(key), key)))


async def kinds_of(snapshot: Snapshot, kinds: Sequence[str]) -> list[str]:
    """The kinds that these names stand for, and these; nothing where no kind is named."""
    if not kinds:
        return []
    forms = await _forms(snapshot)
    return list(dict.fromkeys(kind for name in kinds for kind in (forms.kind(name), name)))


async def by_all_names(snapshot: Snapshot, wanted: Filter) -> Filter:
    """The filter with all keys of the entities that it names, and with the kinds that its names of kinds stand for."""
    kinds, keys = await kinds_of(snapshot, wanted.entity_kinds), wanted.entity_keys
    if keys:
        keys = tuple(await keys_of(snapshot, *await forms_of(snapshot, *keys)))
    return replace(wanted, entity_kinds=tuple(kinds), entity_keys=keys)


async def _forms(snapshot: Snapshot) -> KeyForms:
    return _forms_of((await acting(snapshot)).packs)


# A pack compiles its templates once, not for every read.
@lru_cache(maxsize=_REMEMBERED_SETTINGS)
def _forms_of(packs: tuple[Pack, ...]) -> KeyForms:
    return KeyForms(packs)
