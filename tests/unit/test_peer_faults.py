"""The faults that are put to other memories: one that does what it should passes, and one that does not is seen."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.peers.faults import CANNOT, FAILS, FAULTS, HOLDS
from bench.peers.peer import CannotBeAsked, Fact, Hit, Item, Peer, Setting

CORPUS = [
    Item(f"conv/{number}", "conv", f"Turn number {number} is about holidays by the sea.", author="Ann")
    for number in range(2200)
]


def _setting() -> Setting:
    return Setting(Path(), "", lambda text: [], lambda text: [], "", "", "")


def _stems(text: str) -> set[str]:
    words = re.findall(r"[\w-]+", text.lower())
    return {word if re.search(r"\d", word) else word[:6] for word in words if len(word) > 2}


class Good(Peer):
    """A memory in a dictionary, which does what it should."""

    def __init__(self) -> None:
        super().__init__(_setting())
        self.kept: dict[tuple[str, str], Item] = {}
        self.facts: dict[tuple[str, str], list[Fact]] = {}

    async def add(self, item: Item) -> None:
        if not item.text.strip() or "\x00" in item.text:
            raise ValueError("text: it has none")
        self.kept.setdefault((item.namespace, item.id), item)

    async def add_many(self, items: Sequence[Item]) -> None:
        refused = []
        for item in items:
            try:
                await self.add(item)
            except ValueError as error:
                refused.append(error)
        if refused:
            raise refused[0]

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        asked = _stems(text)
        scored = [
            (len(asked & _stems(hit.text)), -place, hit) for place, hit in enumerate(await self.stored(namespace))
        ]
        return [hit for score, _, hit in sorted(scored, reverse=True)[:limit] if score or not relevant]

    async def search_words(self, namespace: str, text: str, limit: int) -> list[Hit]:
        return await self.search(namespace, text, limit, relevant=True)

    async def stored(self, namespace: str) -> list[Hit]:
        said = [Hit(item.id, item.said, item.data) for (space, _), item in self.kept.items() if space == namespace]
        return said + [
            Hit("fact", facts[-1].sentence) for (space, _), facts in self.facts.items() if space == namespace
        ]

    async def state(self, namespace: str, fact: Fact) -> None:
        self.facts.setdefault((namespace, fact.subject), []).append(fact)

    async def as_of(self, namespace: str, subject: str, predicate: str, moment: str) -> list[str]:
        return [fact.value for fact in self.facts[namespace, subject] if fact.since <= moment][-1:]

    async def delete(self, namespace: str, item_id: str) -> None:
        del self.kept[namespace, item_id]

    async def change_model(self) -> None:
        raise ValueError("another model is served")


class Duplicating(Good):
    async def add(self, item: Item) -> None:
        await super().add(Item(f"{item.id}#{len(self.kept)}", item.namespace, item.text, item.author, data=item.data))


class LosingBatches(Good):
    async def add_many(self, items: Sequence[Item]) -> None:
        raise ValueError("invalid byte sequence")


class Changing(Good):
    async def add(self, item: Item) -> None:
        data = {name: float(value) if isinstance(value, int) else value for name, value in item.data.items()}
        await super().add(Item(item.id, item.namespace, item.text.strip(), item.author, data=data))


class Leaking(Good):
    async def stored(self, namespace: str) -> list[Hit]:
        alike = [name for name, _ in self.kept if name.lower().startswith(namespace.lower())]
        return [hit for name in dict.fromkeys([namespace, *alike]) for hit in await super().stored(name)]


class Refusing(Good):
    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        if re.search(r"[^\w\s?.:«»,-]", text) or len(text) > 1000 or re.search(r"[^\w-]", namespace):
            raise ValueError("syntax error")
        return await super().search(namespace, text, limit, relevant=relevant)


class Forgetful(Good):
    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        return (await super().search(namespace, text[:40], 2, relevant=relevant))[1:]


class Talkative(Good):
    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        return await super().search(namespace, text, limit)


class Literal(Good):
    async def search_words(self, namespace: str, text: str, limit: int) -> list[Hit]:
        return [hit for hit in await self.stored(namespace) if text in hit.text]


class TakingAll(Good):
    async def add(self, item: Item) -> None:
        self.kept.setdefault((item.namespace, item.id), item)


class Stale(Good):
    async def state(self, namespace: str, fact: Fact) -> None:
        await self.add(Item(fact.value, namespace, fact.sentence))

    async def as_of(self, namespace: str, subject: str, predicate: str, moment: str) -> list[str]:
        return ["Globex"]

    async def delete(self, namespace: str, item_id: str) -> None:
        """Only says so."""


class Mixing(Good):
    async def change_model(self) -> None:
        """Says nothing."""


async def put(name: str, peer: Peer) -> Any:
    return await FAULTS[name].put(peer, CORPUS)


async def loaded(kind: type[Good]) -> Good:
    peer = kind()
    for item in CORPUS[:40]:
        await peer.add(item)
    return peer


@pytest.mark.parametrize("name", FAULTS)
async def test_a_good_memory_passes(name: str) -> None:
    """AC-6, OB-3, RE-4: what each fault is held against can be met."""
    outcome = await put(name, await loaded(Good))
    assert outcome.verdict == HOLDS, outcome.seen


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("delivered_again", Duplicating),
        ("delivered_at_once", Duplicating),
        ("one_bad_of_three", LosingBatches),
        ("text_kept", Changing),
        ("numbers_kept", Changing),
        ("odd_tenants", Refusing),
        ("neighbouring_tenants", Leaking),
        ("operators", Refusing),
        ("few_beside_many", Forgetful),
        ("identifier", Forgetful),
        ("word_forms", Literal),
        ("nonsense", Talkative),
        ("long_query", Refusing),
        ("end_of_a_long_text", Forgetful),
        ("empty_text", TakingAll),
        ("newer_value", Stale),
        ("as_of", Stale),
        ("deleted", Stale),
        ("other_model", Mixing),
    ],
)
async def test_a_broken_memory_is_seen(name: str, broken: type[Good]) -> None:
    """OB-3, NS-1, RE-1: each fault has a memory that fails it."""
    outcome = await put(name, await loaded(broken))
    assert outcome.verdict == FAILS, outcome.seen
    assert outcome.seen


async def test_what_cannot_be_asked_is_no_failure() -> None:
    """FA-10: a memory without a way to ask is told apart from one that answers wrongly."""

    class Timeless(Good):
        async def as_of(self, *asked: str) -> list[str]:
            raise CannotBeAsked("there is no time to ask about")

    outcome = await put("as_of", await loaded(Timeless))
    assert (outcome.verdict, outcome.seen) == (CANNOT, "there is no time to ask about")


async def test_an_error_is_told_in_one_line() -> None:
    """OP-2: what a fault meets is told as a failure, and ends nothing."""

    class Dying(Good):
        async def stored(self, namespace: str) -> list[Hit]:
            raise RuntimeError("first line\nsecond line")

    outcome = await put("delivered_again", await loaded(Dying))
    assert (outcome.verdict, outcome.seen) == (FAILS, "an error: RuntimeError: first line")


def test_each_fault_names_its_rule() -> None:
    """OB-3: a fault says which rule it is of, and whether the store is of use after it."""
    assert all(re.fullmatch(r"[A-Z]{2}-\d+(, [A-Z]{2}-\d+)*", fault.rule) for fault in FAULTS.values())
    assert [name for name, fault in FAULTS.items() if fault.is_final] == ["other_model"]
