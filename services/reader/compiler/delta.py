"""What is new, changed or no longer true since a former pack (RE-14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from services.reader.compiler.budget import Budget
from services.reader.compiler.gates import Gate
from services.reader.compiler.items import NO_LONGER_TRUE, Item
from services.reader.compiler.packing import Packed, pack
from services.reader.compiler.reading import ItemReader
from services.reader.compiler.standing import Standing, standing
from services.reader.rows import Filter
from services.reader.store import Snapshot

# Numbers of DeltaState.
NEW, CHANGED = 1, 2

WITHHELD = "what was told of this item can no longer be read"
"""Stands for the text of what is deleted, or no longer the caller's to see."""

# Of an item that only the request leaves out, nothing is known to have changed.
_OVER = frozenset({Gate.VISIBILITY, Gate.SUPERSEDED, Gate.EVIDENCE_LOST, Gate.NOT_FOUND, Gate.STATUS})


@dataclass(frozen=True, slots=True)
class Former:
    """What a caller knows from a former pack, and from those before it."""

    items: Mapping[str, Item]
    names: frozenset[str] = frozenset()
    """What its trace is found by."""


async def what_changed(
    snapshot: Snapshot, reader: ItemReader, whole: Packed, former: Former, wanted: Filter, budget: Budget
) -> tuple[Packed, tuple[Item, ...]]:
    """Of a pack that would tell everything, what a former one does not tell, first of all what is no longer true; and
    what the caller knows besides."""
    changes = [_told_anew(item, former) for item in whole.items if _differs(item, former)]
    inside = {item.item_id for item in whole.items}
    stands = await standing(snapshot, sorted(former.items.keys() - inside), wanted)
    changes += (_no_longer_true(former.items[key], each) for key, each in stands.items() if each.gate in _OVER)
    kept = [each.place for each in stands.values() if each.gate not in _OVER and each.place is not None]
    changes += (_told_anew(item, former) for item in (await reader.read(kept))[0] if _differs(item, former))
    packed = pack(changes, budget)
    told = {item.item_id for item in packed.items}
    return packed, tuple(item for key, item in sorted(former.items.items()) if key not in told)


def _told_anew(item: Item, former: Former) -> Item:
    return replace(item, delta=CHANGED if item.item_id in former.items else NEW)


def _differs(item: Item, former: Former) -> bool:
    """Whether the former packs did not tell the item as it is."""
    told = former.items.get(item.item_id)
    return told is None or _content(told) != _content(item)


def _content(item: Item) -> tuple[object, ...]:
    """What a reader would act by. More evidence of the same is no change."""
    interval = item.valid_from, item.valid_to
    return item.text, item.status, *interval, item.is_hypothesis, item.rivals, item.importance


def _no_longer_true(told: Item, stands: Standing) -> Item:
    text = told.text if stands.is_readable else WITHHELD
    return replace(
        told,
        text=text,
        compared=text,
        provenance=told.provenance if stands.is_readable else (),
        source_path="",
        delta=NO_LONGER_TRUE,
        rivals=(),
    )
