"""Rivals in packs (FA-7): side by side, all or none, within the budget."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.reader.compiler.budget import Budget
from services.reader.compiler.items import Item
from services.reader.compiler.packing import RIVALS_BESIDE, pack
from services.reader.compiler.rendering import rendered_pack
from services.reader.rows import CRITICAL
from tests.unit.test_rendering import item


def fact(name: str, *rivals: str, text: str = "", **changes: Any) -> Item:
    text = text or f"alice lives in {name}"
    return item(item_id=name, text=text, compared=text, rivals=rivals, **changes)


def by_id(*items: Item) -> dict[str, Item]:
    return {each.item_id: each for each in items}


def test_a_rival_that_was_not_found_stands_beside() -> None:
    """FA-7: right behind the item, before what is more relevant."""
    omsk, tula, other = fact("omsk", "tula", score=0.9), fact("tula", "omsk", score=0.0), fact("other", score=0.5)

    packed = pack([omsk, other], Budget(2_800), by_id(tula))

    assert [each.item_id for each in packed.items] == ["omsk", "tula", "other"]


def test_both_or_neither() -> None:
    """FA-7, RE-6: where there is room for one side only, neither is packed, and what fits may follow."""
    omsk = fact("omsk", "tula", score=0.9)
    tula = fact("tula", "omsk", text="alice lives in tula " * 9)
    other = fact("other", score=0.5)

    packed = pack([omsk, other], Budget(200), by_id(tula))

    assert [each.item_id for each in packed.items] == ["other"]
    assert [each.item_id for each in packed.omitted] == ["omsk"]


def test_each_side_once() -> None:
    """FA-7: rivals that were found themselves are not packed again; critical ones still come first."""
    sides = [
        fact(name, *({"a", "b", "c"} - {name}), score=score) for name, score in (("a", 0.9), ("b", 0.8), ("c", 0.7))
    ]
    rule = fact("rule", score=0.1, importance=CRITICAL)

    packed = pack([*sides, rule], Budget(2_800))

    assert [each.item_id for each in packed.items] == ["rule", "a", "b", "c"]


def test_of_many_rivals_the_best_stand_beside() -> None:
    """FA-7: a bounded number; the others are named."""
    names = [f"city{number}" for number in range(9)]
    rivals = [fact(name, "omsk", score=0.1 * number) for number, name in enumerate(names)]

    packed = pack([fact("omsk", *names, score=1.0)], Budget(2_800), by_id(*rivals))

    assert [each.item_id for each in packed.items] == ["omsk", *reversed(names[-RIVALS_BESIDE:])]


@st.composite
def conflicts(draw: st.DrawFn) -> list[Item]:
    """Facts of a few subjects; those of one subject are rivals."""
    made = []
    for subject in range(draw(st.integers(1, 4))):
        names = [f"s{subject}v{value}" for value in range(draw(st.integers(1, 4)))]
        for name in names:
            text = f"{name} " + "word " * draw(st.integers(0, 30))
            rivals = [each for each in names if each != name]
            made.append(fact(name, *rivals, text=text.strip(), score=draw(st.floats(0, 1))))
    return made


@given(conflicts(), st.integers(200, 1_200), st.sets(st.integers(0, 15)))
def test_conflicts_are_whole_whatever_the_budget(facts: list[Item], budget: int, unfound: set[int]) -> None:
    """FA-7, RE-6: of a conflict all sides are in, or none, found or not; never beyond the budget."""
    found = [each for number, each in enumerate(facts) if number not in unfound]

    packed = pack(found, Budget(budget), by_id(*facts))

    inside = {each.item_id for each in packed.items}
    assert all(set(each.rivals) <= inside for each in packed.items)
    assert len(rendered_pack("pack-" + "f" * 24, list(packed.texts))) <= budget
    assert len(inside) == len(packed.items)
