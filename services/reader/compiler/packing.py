"""Chooses what goes into a pack: whole items, best first, no text twice, never beyond the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.reader.compiler.budget import Budget
from services.reader.compiler.items import Item
from services.reader.compiler.rendering import BETWEEN_ITEMS, rendered_item, wrapper
from services.reader.rows import CRITICAL, Status

NAMED_OMISSIONS = 20


@dataclass(frozen=True, slots=True)
class Packed:
    """The chosen items in order, as texts too, and what did not fit."""

    items: tuple[Item, ...]
    texts: tuple[str, ...]
    omitted: tuple[Item, ...]


def pack(items: Sequence[Item], budget: Budget) -> Packed:
    """Packs items in their order; one that does not fit is left out whole, and smaller ones may still follow it.

    An item that a packed one says already is dropped; one that says more than packed ones takes the place of the first
    of them, if there is room.
    """
    packing = _Packing(budget)
    left_out = [item for item in sorted(items, key=lambda item: item.order) if not packing.take(item)]
    # What was taken out for a longer item, or is said by a later one, is not missed.
    omitted = tuple(item for item in left_out if not packing.says(item))
    return Packed(tuple(packing.items), tuple(packing.texts), omitted)


def says(one: Item, other: Item) -> bool:
    """Whether `one` holds the text of `other` and gives it no less weight."""
    if other.compared not in one.compared:
        return False
    return not (
        (one.is_hypothesis and not other.is_hypothesis)
        or (one.status != Status.ACTIVE and other.status == Status.ACTIVE)
        or (one.importance != CRITICAL and other.importance == CRITICAL)
        or (other.rivals and not one.rivals)
    )


class _Packing:
    """A pack in the making."""

    def __init__(self, budget: Budget) -> None:
        self.items: list[Item] = []
        self.texts: list[str] = []
        self._budget = budget
        self._room = budget.size - budget.measure(wrapper())

    def says(self, item: Item) -> bool:
        """Whether some item of the pack says the same or more."""
        return any(says(other, item) for other in self.items)

    def take(self, item: Item) -> bool:
        """Puts the item in, unless the budget forbids it. True too where the pack says it already."""
        if self.says(item):
            return True
        covered = {index for index, other in enumerate(self.items) if says(item, other)}
        return self._replace(covered, item) if covered else self._append(item)

    def _append(self, item: Item) -> bool:
        text = rendered_item(len(self.items) + 1, item)
        size = self._budget.measure(text) + (self._budget.measure(BETWEEN_ITEMS) if self.items else 0)
        if size > self._room:
            return False
        self.items.append(item)
        self.texts.append(text)
        self._room -= size
        return True

    def _replace(self, covered: set[int], item: Item) -> bool:
        """Puts the item in the place of the first that it covers, and takes the others out."""
        first = min(covered)
        items = [
            item if index == first else other
            for index, other in enumerate(self.items)
            if index == first or index not in covered
        ]
        # The numbers of those behind have changed, and with them perhaps the lengths.
        texts = [rendered_item(number, each) for number, each in enumerate(items, start=1)]
        before, after = (self._budget.measure(BETWEEN_ITEMS.join(each)) for each in (self.texts, texts))
        if after - before > self._room:
            return False
        self.items, self.texts, self._room = items, texts, self._room - (after - before)
        return True
