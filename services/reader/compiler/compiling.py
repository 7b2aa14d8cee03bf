"""From candidates to a context pack: read slice by slice, packed until the budget is spent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

from palimpsest.canonical import pack as canonical

from services.reader.compiler.budget import Budget, Unit
from services.reader.compiler.delta import Former, what_changed
from services.reader.compiler.gates import Gate
from services.reader.compiler.items import Item, Place
from services.reader.compiler.packing import NAMED_OMISSIONS, Packed, Packing
from services.reader.compiler.reading import ItemReader
from services.reader.compiler.rendering import rendered_pack
from services.reader.namespaces import acting
from services.reader.retrieval import tuning
from services.reader.retrieval.fusion import Fused
from services.reader.retrieval.retrieve import Retrieved
from services.reader.rows import CRITICAL, Filter, ItemKind
from services.reader.store import Snapshot
from shared.token_count import token_count

_ID_DIGITS = 24

SLICE_CHARS = 350
"""Characters of the budget for each item of the first slice. Later ones have as many as should fit by then."""

LEAST_SLICE = 8

SPARE = 2
"""Items that are read beyond those that should fit: some are said already."""

TRACED_CANDIDATES = 1_000
"""Candidates that a trace holds, by the contract."""


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


@dataclass(frozen=True, slots=True)
class Wish:
    """What a pack should be."""

    request: str
    """The request as text, of which the pack's id is made."""
    budget: Budget | None = None
    """None: the namespace's default."""
    every_conflict: bool = False
    former: Former | None = None
    """The pack since which changes are told."""


class Traced(NamedTuple):
    """One candidate of a compilation, and what became of it."""

    place: Place
    gate: Gate


@dataclass(frozen=True, slots=True)
class Compilation:
    """A pack, and how it came about."""

    pack: ContextPack
    found: Retrieved
    candidates: tuple[Traced, ...]
    known: tuple[Item, ...] = ()
    """Of a delta: what former packs told, and is so still."""
    former_names: frozenset[str] = frozenset()
    """Of a delta: what the former pack's trace is found by."""
    traces_kept_s: float = 0.0
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Those of the retrieval, and `pack`."""

    @property
    def names(self) -> frozenset[str]:
        """All keys and ids that a trace of it may hold words of: what erasure finds it by."""
        keys = {traced.place.owner_key for traced in self.candidates if traced.place.kind != ItemKind.FACT}
        for item in (*self.pack.items, *self.known):
            keys.update((item.item_id, *item.ends, *item.rivals))
        return frozenset(keys) | self.observation_ids | self.former_names

    @property
    def observation_ids(self) -> frozenset[str]:
        """What the packed items rest on."""
        items = (*self.pack.items, *self.known)
        return frozenset(step.observation_id for item in items for step in item.provenance)


async def compiled(snapshot: Snapshot, found: Retrieved, wanted: Filter, wish: Wish) -> Compilation:
    """The pack of what was found. Its id is made of the request and of what is packed: both equal, it is equal."""
    begun = perf_counter()
    namespace = await acting(snapshot)
    unit, amount = namespace.budget
    budget = wish.budget or Budget(amount, Unit(unit))
    reader = ItemReader(snapshot, found, namespace, wanted, every_conflict=wish.every_conflict)
    places = _places(found.candidates)
    # What is kept leads the candidates.
    relevant = _relevant(places[: len(found.kept)], found.tuning.get("pack.floor", tuning.PACK_FLOOR))
    packed = whole = await _packed(reader, relevant, budget)
    known: tuple[Item, ...] = ()
    if wish.former is not None:
        packed, known = await what_changed(snapshot, reader, whole, wish.former, wanted, budget)
    pack = _pack(wish.request, packed, budget, _omitted(relevant, whole, packed))
    return Compilation(
        pack=pack,
        found=found,
        candidates=tuple(_traced(found, places, relevant, whole, packed))[:TRACED_CANDIDATES],
        known=known,
        former_names=wish.former.names if wish.former else frozenset(),
        traces_kept_s=namespace.traces_kept_s,
        timings_ms={**found.timings_ms, "pack": (perf_counter() - begun) * 1000},
    )


def _places(candidates: Sequence[Fused]) -> list[Place]:
    told = candidates[0].field.told_of_all() if candidates else {}
    return [Place.of(fused, told.get(fused.candidate.passage_id, ())) for fused in candidates]


def _relevant(kept: Sequence[Place], share: float) -> list[Place]:
    """What is worth its room, in the order of packing: of no less than this share of the best score."""
    floor = share * kept[0].score if kept else 0.0
    return sorted(
        (place for place in kept if place.score >= floor or place.importance == CRITICAL),
        key=lambda place: place.order,
    )


async def _packed(reader: ItemReader, relevant: Sequence[Place], budget: Budget) -> Packed:
    """Packs slice by slice, until something did not fit: what comes after that is less relevant, and is not read."""
    packing = Packing(budget)
    start, size = 0, max(LEAST_SLICE, budget.size // SLICE_CHARS)
    while start < len(relevant) and not packing.has_refused:
        packing.offer(*await reader.read(relevant[start : start + size]))
        start, size = start + size, packing.fits(least=LEAST_SLICE) + SPARE
    return packing.packed()


def _omitted(relevant: Sequence[Place], whole: Packed, packed: Packed) -> list[str]:
    """Ids of what is relevant and did not fit, best first; what was to be told of changes first of all."""
    told = {item.item_id for item in (*whole.items, *whole.folded)}
    omitted = [item.item_id for item in packed.omitted] if packed is not whole else []
    return omitted + [place.item_id for place in relevant if place.item_id not in told]


def _pack(request: str, packed: Packed, budget: Budget, omitted: Sequence[str]) -> ContextPack:
    pack_id = _pack_id(request, packed.items, packed.texts)
    rendered = rendered_pack(pack_id, list(packed.texts))
    return ContextPack(
        pack_id=pack_id,
        items=packed.items,
        rendered=rendered,
        tokens=token_count(rendered),
        budget=budget,
        omitted_count=len(omitted),
        omitted=tuple(omitted[:NAMED_OMISSIONS]),
    )


def _pack_id(request: str, items: Sequence[Item], texts: Sequence[str]) -> str:
    parts = (part for item, text in zip(items, texts, strict=True) for part in (item.item_id, text))
    digest = hashlib.sha256(canonical("palimpsest.pack", "1", request, *parts)).hexdigest()
    return f"pack-{digest[:_ID_DIGITS]}"


def _traced(
    found: Retrieved, places: Sequence[Place], relevant: Sequence[Place], whole: Packed, packed: Packed
) -> Iterator[Traced]:
    """Every candidate, best first, then what only stands beside one."""
    gates = dict.fromkeys((place.item_id for place in places), Gate.CAP if found.kept else Gate.FLOOR)
    gates.update((place.item_id, Gate.FLOOR) for place in places[: len(found.kept)])
    gates.update((place.item_id, Gate.BUDGET) for place in relevant)
    # What a former pack told and is so still is told no second time.
    gates.update((item.item_id, Gate.DUPLICATE) for item in (*whole.folded, *whole.items))
    gates.update((item.item_id, Gate.BUDGET) for item in packed.omitted)
    gates.update((item.item_id, Gate.NONE) for item in packed.items)
    for place in places:
        yield Traced(place, gates[place.item_id])
    candidates = {place.item_id for place in places}
    for item in packed.items:
        if item.item_id not in candidates:
            yield Traced(_unfound(item), Gate.NONE)


def _unfound(item: Item) -> Place:
    owner_key = item.item_id if item.kind == ItemKind.FACT else item.ends[0] if item.ends else item.item_id
    return Place(0, item.kind, item.item_id, owner_key, item.status, item.importance)
