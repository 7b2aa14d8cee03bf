"""Explain: why an item is in a pack, or which gate kept it out (RE-7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from services.reader.compiler.gates import Gate
from services.reader.compiler.standing import Standing, standing
from services.reader.context import ReadContext
from services.reader.contexts.trace_store import own_trace
from services.reader.provenance import origins
from services.reader.retrieval import tuning
from services.reader.retrieval.fusion import SignalScore
from services.reader.rows import Filter, Origin, Row
from services.reader.store import Snapshot

_UNKNOWN = "There is no such item that the caller may see."

_WORDS = {
    Gate.FLOOR: "Its score is below the floor of what is relevant enough to be packed.",
    Gate.CAP: "It was found, but beyond the candidates that a pack is chosen from.",
    Gate.DUPLICATE: "Another item that is in, or the former pack, says the same.",
    Gate.BUDGET: "It was relevant, but did not fit the budget, or came after what did not.",
}


@dataclass(frozen=True, slots=True)
class TracedItem:
    """What a trace says of an item."""

    gate: Gate | None
    """None: it was no candidate."""
    number: int
    """Its number in the pack; 0 where it is not in."""
    signals: tuple[SignalScore, ...]
    compiled_at: datetime
    is_abstention: bool
    """Whether nothing was relevant enough."""
    has_vectors: bool
    """Whether vectors took part, which rank all that has one."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item is in, or is not."""

    gate: Gate
    words: str
    signals: tuple[SignalScore, ...] = ()
    provenance: tuple[Origin, ...] = ()


async def explain(
    context: ReadContext,
    subject: str,
    *,
    trace_id: str,
    item_id: str,
    is_admin: bool,
    traced_of: Callable[[Row, str], TracedItem],
    request_of: Callable[[Row], tuple[Filter, str]],
) -> Explanation:
    """The gates are walked in order: those of the store as it is now, then those of the compilation.

    `traced_of` and `request_of` read a stored trace. Raises NotFound for a trace that is not the caller's own.
    """

    async def work(snapshot: Snapshot) -> Explanation:
        stored = await own_trace(snapshot, subject, trace_id)
        traced = traced_of(stored, item_id)
        wanted, query = request_of(stored)
        stands = (await standing(snapshot, [item_id], wanted, query))[item_id]
        gate, words = _dropped(traced) if traced.gate is not None else _not_found(stands, traced, is_admin=is_admin)
        return Explanation(gate, words, traced.signals, await _provenance(snapshot, stands))

    return await context.snapshot(work)


def _dropped(traced: TracedItem) -> tuple[Gate, str]:
    """What the compilation did with a candidate."""
    gate = traced.gate or Gate.NONE
    if gate is Gate.NONE:
        return gate, f"It is in the pack, as [{traced.number}]."
    if gate is Gate.FLOOR and traced.is_abstention:
        return gate, "Nothing was relevant enough, so the pack is empty."
    return gate, _WORDS[gate]


def _not_found(stands: Standing, traced: TracedItem, *, is_admin: bool) -> tuple[Gate, str]:
    """Why what is no candidate is none."""
    is_unknown = stands.gate is Gate.NOT_FOUND and not stands.is_readable
    if is_unknown or (stands.gate is Gate.VISIBILITY and not is_admin):
        return Gate.NOT_FOUND, _UNKNOWN
    if stands.gate is not Gate.NONE:
        return stands.gate, stands.words
    if stands.recorded_at and stands.recorded_at > traced.compiled_at:
        return Gate.NOT_FOUND, "It was stored, or changed, after the compilation."
    if stands.has_words or traced.has_vectors:
        return Gate.CAP, "Others matched the query better, up to the most that a signal finds."
    return Gate.NOT_FOUND, "No signal found it."


async def _provenance(snapshot: Snapshot, stands: Standing) -> tuple[Origin, ...]:
    """The chain of what the caller may read."""
    place = stands.place
    if place is None or not stands.is_readable:
        return ()
    passage = (await snapshot.passages_by_id([place.passage_id]))[place.passage_id]
    [chain] = await snapshot.provenance(
        [(place.kind, place.owner_key, passage["observation_id"])], limit=tuning.PROVENANCE_LINKS
    )
    return origins(chain)
