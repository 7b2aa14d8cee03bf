"""From hits to a context pack."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.canonical import pack as canonical

from services.reader.compiler.budget import Budget
from services.reader.compiler.items import Item, item_of
from services.reader.compiler.packing import NAMED_OMISSIONS, pack
from services.reader.compiler.rendering import rendered_pack
from services.reader.retrieval import tuning
from services.reader.retrieval.retrieve import Hit
from services.reader.rows import CRITICAL
from shared.namespace_defaults import HYPOTHESIS_BELOW
from shared.token_count import token_count

_ID_DIGITS = 24


@dataclass(frozen=True, slots=True)
class ContextPack:
    """What is useful now, within a budget."""

    pack_id: str
    items: tuple[Item, ...]
    rendered: str
    tokens: int
    budget: Budget
    omitted_count: int
    omitted: tuple[str, ...]


def compiled(
    hits: Sequence[Hit],
    rivals: Mapping[str, tuple[str, ...]],
    budget: Budget,
    request: str,
    *,
    hypothesis_below: float = HYPOTHESIS_BELOW,
) -> ContextPack:
    """Packs the hits. The id is made of the request and of what is packed: both equal, the pack is equal."""
    items = (item_of(hit, rivals.get(hit.fused.candidate.owner_key, ()), hypothesis_below) for hit in hits)
    packed = pack([item for item in items if _is_relevant(item, best=hits[0].fused.score)], budget)
    pack_id = _pack_id(request, packed.items, packed.texts)
    rendered = rendered_pack(pack_id, list(packed.texts))
    return ContextPack(
        pack_id=pack_id,
        items=packed.items,
        rendered=rendered,
        tokens=token_count(rendered),
        budget=budget,
        omitted_count=len(packed.omitted),
        omitted=tuple(item.item_id for item in packed.omitted[:NAMED_OMISSIONS]),
    )


def _is_relevant(item: Item, best: float) -> bool:
    return item.score >= tuning.PACK_FLOOR * best or item.importance == CRITICAL


def _pack_id(request: str, items: Sequence[Item], texts: Sequence[str]) -> str:
    parts = (part for item, text in zip(items, texts, strict=True) for part in (item.item_id, text))
    digest = hashlib.sha256(canonical("palimpsest.pack", "1", request, *parts)).hexdigest()
    return f"pack-{digest[:_ID_DIGITS]}"
