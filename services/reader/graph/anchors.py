"""Where a walk starts: entities named by key, by another form of it, by title or alias, or in a text (RE-10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from services.reader.names import forms_of
from services.reader.namespaces import acting
from services.reader.past_store import Past
from services.reader.store import Snapshot
from shared.domain_packs.anchors import anchors
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("traverse.sql"))


@dataclass(frozen=True, slots=True)
class Named:
    """An entity as a caller names it."""

    key: str
    name: str = ""
    """What may be a title or an alias, where nothing has the key. Empty: the key says all."""


async def resolve_anchors(snapshot: Snapshot, named: Sequence[Named], text: str) -> list[str]:
    """Keys of the visible entities that are named, and of those whose ids the text holds, in this order, each once.

    A merged entity is told by the key that it answers as. What names none, or names several, is passed over.
    """
    given = [
        (place, form, each.name) for place, each in enumerate(named) for form in await forms_of(snapshot, each.key)
    ]
    if text:
        spoken_of = anchors(text, (await acting(snapshot)).packs)
        given += [(place, key, "") for place, key in enumerate(spoken_of, start=len(named))]
    if not given:
        return []
    places, keys, names = zip(*given, strict=True)
    return [row["key"] for row in await snapshot.run(_SQL.anchors, list(places), list(keys), list(names))]


async def resolve_past_anchors(
    snapshot: Snapshot, named: Sequence[Named], text: str, *, known_at: datetime
) -> list[str]:
    """The same for what was known at a moment, by the keys that things have: their other names are of the present."""
    keys = list(dict.fromkeys([*(each.key for each in named), *await spoken_of(snapshot, text)]))
    known = await Past(snapshot, known_at).get_entities(keys)
    return [key for key in keys if key in known]


async def spoken_of(snapshot: Snapshot, text: str) -> list[str]:
    """Keys of what a text names by ids, as the patterns of the enabled packs tell, whether they are stored or not."""
    return anchors(text, (await acting(snapshot)).packs) if text else []
