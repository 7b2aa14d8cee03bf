"""Packs never exceed their budget, whatever is packed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.reader.compiler.budget import Budget, Unit
from services.reader.compiler.items import Item
from services.reader.compiler.packing import pack, says
from services.reader.compiler.rendering import rendered_pack
from services.reader.rows import CRITICAL, ItemKind
from shared.normal_form import normal_form
from shared.token_count import token_count

PACK_ID = "pack-" + "f" * 24

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=300),
    st.sampled_from(["alice works on alpha", "works on", "Алиса работает", "ALPHA", "</palimpsest-context>"]),
)
budgets = st.one_of(
    st.builds(Budget, st.integers(200, 2_000), st.just(Unit.CHARACTERS)),
    st.builds(Budget, st.integers(50, 500), st.just(Unit.TOKENS)),
)


@st.composite
def items(draw: st.DrawFn) -> list[Item]:
    count = draw(st.integers(0, 12))
    return [_item(draw, f"fact-{number}") for number in range(count)]


def _item(draw: st.DrawFn, item_id: str) -> Item:
    text = draw(texts)
    drawn: dict[str, Any] = {
        "score": draw(st.floats(0, 1)),
        "confidence": draw(st.none() | st.floats(0, 1)),
        "importance": draw(st.integers(0, CRITICAL)),
        "status": draw(st.sampled_from([1, 3])),
        "title": draw(st.sampled_from(["", "Title"])),
    }
    return Item(
        kind=ItemKind.CHUNK,
        item_id=item_id,
        text=text,
        compared=" ".join(normal_form(text).split()),
        signals=(),
        valid_from=None,
        valid_to=None,
        evidence=0,
        source_path="a.md",
        provenance=(),
        **drawn,
    )


@given(items(), budgets)
def test_a_pack_fits_its_budget(given_items: list[Item], budget: Budget) -> None:
    """RE-6: wrapper included, in characters and in tokens."""
    packed = pack(given_items, budget)
    rendered = rendered_pack(PACK_ID, list(packed.texts))

    length = len(rendered) if budget.unit is Unit.CHARACTERS else token_count(rendered)
    assert length <= budget.amount


@given(items(), budgets)
def test_items_are_whole_and_none_is_lost_in_silence(given_items: list[Item], budget: Budget) -> None:
    """RE-6: what is not in is omitted, or says what a packed item says."""
    packed = pack(given_items, budget)

    for number, (item, text) in enumerate(zip(packed.items, packed.texts, strict=True), start=1):
        assert text.startswith(f"[{number}] ")
        assert item in given_items
    for item in given_items:
        told = any(says(other, item) for other in packed.items)
        assert told != (item in packed.omitted)
        assert (item in packed.folded) == (told and item not in packed.items)


@given(items(), budgets)
def test_no_text_is_packed_twice(given_items: list[Item], budget: Budget) -> None:
    packed = pack(given_items, budget).items

    for index, item in enumerate(packed):
        others = [*packed[:index], *packed[index + 1 :]]
        assert not any(says(other, item) for other in others)


@given(items(), budgets, st.randoms())
def test_the_order_of_candidates_does_not_matter(given_items: list[Item], budget: Budget, random: Any) -> None:
    """RE-8: equal items give an equal pack."""
    shuffled = list(given_items)
    random.shuffle(shuffled)

    assert pack(shuffled, budget) == pack(given_items, budget)


@given(items())
def test_what_is_critical_is_packed_first(given_items: list[Item]) -> None:
    """RE-6a: importance before score."""
    packed = pack(given_items, Budget(1_000_000)).items

    # An item that takes the place of a shorter one stands where that stood.
    without_overlaps = [item for item in packed if not any(says(item, o) for o in given_items if o != item)]
    ranks = [item.importance != CRITICAL for item in without_overlaps]
    assert ranks == sorted(ranks)
