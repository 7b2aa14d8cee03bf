"""Reads what is packed, from the snapshot that found it, and the rivals of what is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from services.reader.compiler.items import Item, Place, Thing, item_of
from services.reader.compiler.packing import RIVALS_BESIDE
from services.reader.compiler.standing import standing
from services.reader.namespaces import Acting, rivals
from services.reader.provenance import origins
from services.reader.retrieval import tuning
from services.reader.retrieval.fusion import Fused
from services.reader.retrieval.retrieve import Retrieved
from services.reader.rows import Filter, ItemKind
from services.reader.store import Snapshot

Rivals = Mapping[str, tuple[str, ...]]


class ItemReader:
    """Reads items for one pack."""

    def __init__(
        self, snapshot: Snapshot, found: Retrieved, namespace: Acting, wanted: Filter, *, every_conflict: bool
    ) -> None:
        self._snapshot = snapshot
        self._namespace = namespace
        self._wanted = wanted
        self._every_conflict = every_conflict
        self._candidates = found.candidates

    @cached_property
    def _found(self) -> Mapping[str, Fused]:
        """Candidates by id: only where something has rivals are they looked for."""
        return {fused.candidate.item_id: fused for fused in self._candidates}

    async def read(self, places: Sequence[Place]) -> tuple[list[Item], dict[str, Item]]:
        """The items at the places, and by id the rivals that have to stand beside them, found or not."""
        against = await self._rivals(places)
        here = {place.item_id for place in places}
        beside = await self._places({rival for ids in against.values() for rival in self._first(ids)} - here)
        back = await self._rivals(beside)
        read = await self._items([*places, *beside], {**against, **back})
        return read[: len(places)], {item.item_id: item for item in read[len(places) :]}

    async def _rivals(self, places: Sequence[Place]) -> Rivals:
        facts = [place.owner_key for place in places if place.kind == ItemKind.FACT]
        return await rivals(
            self._snapshot, self._namespace, facts, as_of=self._wanted.as_of, every=self._every_conflict
        )

    def _first(self, rival_ids: Iterable[str]) -> list[str]:
        """Those of the rivals that are packed, if there is room: the better found ones."""
        score = {fact_id: self._found[fact_id].score for fact_id in rival_ids if fact_id in self._found}
        return sorted(rival_ids, key=lambda fact_id: (-score.get(fact_id, 0.0), fact_id))[:RIVALS_BESIDE]

    async def _places(self, item_ids: Iterable[str]) -> list[Place]:
        """Where visible items are stored, whether they were found or not."""
        ids = sorted(item_ids)
        places = {item_id: Place.of(self._found[item_id]) for item_id in ids if item_id in self._found}
        unfound = [item_id for item_id in ids if item_id not in places]
        for item_id, each in (await standing(self._snapshot, unfound, self._wanted)).items():
            if each.place is not None:
                places[item_id] = each.place
        return [places[item_id] for item_id in ids if item_id in places]

    async def _items(self, places: Sequence[Place], against: Rivals) -> list[Item]:
        below = self._namespace.hypothesis_below
        return [
            item_of(place, thing, against.get(place.item_id, ()), below)
            for place, thing in zip(places, await _things(self._snapshot, places), strict=True)
        ]


async def _things(snapshot: Snapshot, places: Sequence[Place]) -> list[Thing]:
    """What is stored at places, all of which the caller may see, in their order."""
    if not places:
        return []
    passages = await snapshot.passages_by_id([place.passage_id for place in places])
    fact_ids = [place.owner_key for place in places if place.kind == ItemKind.FACT]
    facts = await snapshot.get_facts(fact_ids) if fact_ids else {}
    keys = [place.owner_key for place in places if place.kind in (ItemKind.ENTITY, ItemKind.RECORD)]
    entities = await snapshot.get_entities(keys) if keys else {}
    items = [(place.kind, place.owner_key, passages[place.passage_id]["observation_id"]) for place in places]
    chains = await snapshot.provenance(items, limit=tuning.PROVENANCE_LINKS)
    return [
        Thing(
            passage=passages[place.passage_id],
            fact=facts.get(place.owner_key) if place.kind == ItemKind.FACT else None,
            entity=entities.get(place.owner_key) if place.kind in (ItemKind.ENTITY, ItemKind.RECORD) else None,
            provenance=origins(chain),
        )
        for place, chain in zip(places, chains, strict=True)
    ]
