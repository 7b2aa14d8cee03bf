"""Verify: which sentences of an answer a pack supports or contradicts (RE-15)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from services.reader.context import ReadContext
from services.reader.contexts.trace_store import own_pack, stems
from services.reader.namespaces import acting
from services.reader.rows import Row
from services.reader.store import Snapshot
from services.reader.verifying.verdicts import PackedText, Verified
from services.reader.verifying.verdicts import verify as verdicts
from services.reader.verifying.wording import words_of


@dataclass(frozen=True, slots=True)
class PackedItem:
    """An item of a stored pack: its text, and its id where it is a fact."""

    text: PackedText
    fact_id: str = ""


async def verify(
    context: ReadContext, subject: str, *, pack_id: str, answer: str, items_of: Callable[[Row], Sequence[PackedItem]]
) -> list[Verified]:
    """The verdicts in order. `items_of` reads a stored pack. Raises NotFound where it is not the caller's own."""

    async def work(snapshot: Snapshot) -> tuple[list[PackedText], dict[str, str]]:
        pack = await _with_values(snapshot, items_of(await own_pack(snapshot, subject, pack_id)))
        words = words_of(answer).union(*(words_of(item.text) for item in pack))
        return pack, await stems(snapshot, words)

    pack, found = await context.snapshot(work)
    # A long answer takes a while, and others wait for this thread.
    return await asyncio.to_thread(verdicts, answer, pack, found)


async def _with_values(snapshot: Snapshot, items: Sequence[PackedItem]) -> list[PackedText]:
    """The texts; where a fact has one value at a time, with the place of the value."""
    single = set((await acting(snapshot)).single_valued)
    fact_ids = [item.fact_id for item in items if item.fact_id]
    facts = await snapshot.get_facts(fact_ids) if single and fact_ids else {}
    return [
        replace(item.text, value=_value(facts[item.fact_id], item.text.text))
        if item.fact_id in facts and facts[item.fact_id]["predicate"] in single
        else item.text
        for item in items
    ]


def _value(fact: Row, text: str) -> tuple[int, int]:
    """Where the value stands in a fact's text; nowhere, where the text is not its sentence."""
    head, between, value = fact["sentence"].partition(f" {fact['predicate'].lower().replace('_', ' ')} ")
    start = len(head) + len(between)
    return (start, start + len(value)) if value and text.startswith(fact["sentence"]) else (0, 0)
