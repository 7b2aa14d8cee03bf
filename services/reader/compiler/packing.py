"""Chooses what goes into a pack: whole items, best first, none twice, rivals side by side, never beyond the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.reader.compiler.budget import Budget
from services.reader.compiler.items import Item
from services.reader.compiler.rendering import BETWEEN_ITEMS, rendered_item, wrapper
from services.reader.rows import CRITICAL, ItemKind, Status

NAMED_OMISSIONS = 20

RIVALS_BESIDE = 5
"""The most rivals that come with an item. Where there are more, they are named by their ids."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The chosen items in order, as texts too, and what did not fit."""

    items: tuple[Item, ...]
    texts: tuple[str, ...]
    omitted: tuple[Item, ...]
    folded: tuple[Item, ...]
    """What some item of the pack says already."""


def pack(items: Sequence[Item], budget: Budget, beside: Mapping[str, Item] | None = None) -> Packed:
    """Packs items in their order; one that does not fit is left out whole, and smaller ones may still follow it.

    An item that a packed one says already is dropped; one that says more than packed ones takes the place of the first
    of them, if there is room. An item that has rivals comes with them, out of the items or of `beside`: all or none.
    """
    packing = Packing(budget)
    packing.offer(items, beside or {})
    return packing.packed()


def says(one: Item, other: Item) -> bool:
    """Whether `one` says all that `other` says, and gives it no less weight."""
    if one.rivals or other.rivals or one.is_over or other.is_over or not _holds(one, other):
        return False
    return not (
        (one.is_hypothesis and not other.is_hypothesis)
        or (one.status != Status.ACTIVE and other.status == Status.ACTIVE)
        or (one.importance != CRITICAL and other.importance == CRITICAL)
    )


def _holds(one: Item, other: Item) -> bool:
    # What a glance tells of most pairs.
    if other.longest_word not in one.compared:
        return False
    # A few words mean something only with who said them, or where.
    if other.kind == ItemKind.CHUNK and one.title != other.title and other.gist.is_short:
        return False
    return one.compared == other.compared or one.gist.holds(other.gist)


class Packing:
    """A pack in the making, filled by one or more offers, the better ones first."""

    def __init__(self, budget: Budget) -> None:
        self.items: list[Item] = []
        self.texts: list[str] = []
        self.has_refused = False
        """Whether the budget forbade an item already."""
        self._budget = budget
        self._size = budget.size - budget.measure(wrapper())
        self._room = self._size
        self._left_out: list[Item] = []

    def fits(self, least: int) -> int:
        """How many more items fit, judged by those that are in; `least` where it cannot be told."""
        taken = self._size - self._room
        return max(least, self._room * len(self.items) // taken) if taken else least

    def offer(self, items: Sequence[Item], beside: Mapping[str, Item]) -> None:
        """Takes of the items what fits, in their order."""
        known = {**beside, **{item.item_id: item for item in items}}
        for item in sorted(items, key=lambda item: item.order):
            if not self._take(item, known):
                self._left_out.append(item)

    def packed(self) -> Packed:
        """The pack as it is by now."""
        inside = {item.item_id for item in self.items}
        out = [item for item in self._left_out if item.item_id not in inside]
        # What was taken out for a longer item, or is said by a later one, is not missed.
        folded = tuple(item for item in out if self._says(item))
        omitted = tuple(item for item in out if item not in folded)
        return Packed(tuple(self.items), tuple(self.texts), omitted, folded)

    def _says(self, item: Item) -> bool:
        return any(says(other, item) for other in self.items)

    def _take(self, item: Item, known: Mapping[str, Item]) -> bool:
        """Puts the item in, unless the budget forbids it or the pack says it already."""
        inside = {other.item_id for other in self.items}
        if item.item_id in inside:
            return True
        if self._says(item):
            return False
        covered = {index for index, other in enumerate(self.items) if says(item, other)}
        if covered:
            return self._replace(covered, item)
        rivals = [known[rival] for rival in item.rivals if rival in known and rival not in inside]
        rivals.sort(key=lambda rival: rival.order)
        return self._append([item, *rivals[:RIVALS_BESIDE]])

    def _append(self, items: Sequence[Item]) -> bool:
        texts = [rendered_item(len(self.items) + number, item) for number, item in enumerate(items, start=1)]
        size = self._budget.measure(BETWEEN_ITEMS.join(texts))
        size += self._budget.measure(BETWEEN_ITEMS) if self.items else 0
        if size > self._room:
            self.has_refused = True
            return False
        self.items += items
        self.texts += texts
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
            self.has_refused = True
            return False
        self._left_out += (self.items[index] for index in covered)
        self.items, self.texts, self._room = items, texts, self._room - (after - before)
        return True
