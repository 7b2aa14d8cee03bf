"""What retrieval and compilation found, as messages of the contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import reference_pb2, retrieval_pb2

from services.reader.compiler.budget import Budget, Unit
from services.reader.compiler.compiling import ContextPack
from services.reader.compiler.items import Item
from services.reader.messages import enum_value, optional_time, to_chunk, to_entity, to_fact
from services.reader.retrieval.abstention import Relevance
from services.reader.retrieval.fusion import SignalScore
from services.reader.retrieval.retrieve import Hit, Retrieved
from services.reader.rows import Origin
from shared.timestamps import from_datetime


def to_search_response(found: Retrieved) -> pb.SearchResponse:
    """The answer to a search."""
    return pb.SearchResponse(
        hits=map(to_hit, found.hits),
        abstention=enum_value(found.abstention),
        degraded=to_degradations(found),
        relevance=to_relevance(found.relevance),
        query_truncated=found.query_truncated,
        fingerprint=found.fingerprint,
    )


def to_compile_response(pack: retrieval_pb2.ContextPack, found: Retrieved, trace_id: str) -> pb.CompileContextResponse:
    """The answer to a compilation."""
    return pb.CompileContextResponse(
        pack=pack,
        abstention=enum_value(found.abstention),
        degraded=to_degradations(found),
        relevance=to_relevance(found.relevance),
        trace_id=trace_id,
        query_truncated=found.query_truncated,
    )


def to_hit(hit: Hit) -> retrieval_pb2.SearchHit:
    """A hit with the thing that it stands for."""
    candidate = hit.fused.candidate
    message = retrieval_pb2.SearchHit(
        kind=enum_value(candidate.kind),
        item_id=candidate.item_id,
        score=hit.fused.score,
        provenance=map(to_provenance_link, hit.provenance),
        status=enum_value(candidate.status),
    )
    add_signals(message.signals, hit.fused.signals)
    if hit.fact:
        message.fact.CopyFrom(to_fact(hit.fact))
    elif hit.entity:
        message.entity.CopyFrom(to_entity(hit.entity))
    else:
        message.chunk.CopyFrom(to_chunk(hit.passage, embedded=hit.embedded))
    return message


def to_pack(pack: ContextPack) -> retrieval_pb2.ContextPack:
    """A pack with its items."""
    return retrieval_pb2.ContextPack(
        pack_id=pack.pack_id,
        items=(to_pack_item(number, item) for number, item in enumerate(pack.items, start=1)),
        rendered=pack.rendered,
        characters=len(pack.rendered),
        tokens=pack.tokens,
        budget=to_budget_message(pack.budget),
        omitted_count=pack.omitted_count,
        omitted=pack.omitted,
    )


def to_pack_item(number: int, item: Item) -> retrieval_pb2.PackItem:
    """An item under the number that the rendered text cites it by."""
    message = retrieval_pb2.PackItem(
        number=number,
        kind=enum_value(item.kind),
        item_id=item.item_id,
        text=item.text,
        score=item.score,
        status=enum_value(item.status),
        valid_from=optional_time(item.valid_from),
        valid_to=optional_time(item.valid_to),
        evidence=enum_value(item.evidence),
        confidence=item.confidence,
        hypothesis=item.is_hypothesis,
        provenance=map(to_provenance_link, item.provenance),
        importance=enum_value(item.importance),
        conflict=bool(item.rivals),
        rival_fact_ids=item.rivals,
        delta=enum_value(item.delta),
    )
    add_signals(message.signals, item.signals)
    return message


def to_budget_message(budget: Budget) -> retrieval_pb2.Budget:
    """A budget in the unit that it was asked for in."""
    if budget.unit is Unit.TOKENS:
        return retrieval_pb2.Budget(tokens=budget.amount)
    return retrieval_pb2.Budget(characters=budget.amount)


def add_signals(messages: Any, signals: Sequence[SignalScore]) -> None:
    """Adds what each signal said to a message's `signals`: made in place, for a trace has hundreds."""
    add = messages.add
    for signal, raw, contribution, rank in signals:
        add(signal=signal, raw=raw, contribution=contribution, rank=rank)


def to_provenance_link(origin: Origin) -> retrieval_pb2.ProvenanceLink:
    """A step of provenance."""
    return retrieval_pb2.ProvenanceLink(
        observation_id=origin.observation_id,
        source=reference_pb2.SourceIdentity(
            system=origin.system, stream=origin.stream, external_id=origin.external_id, revision=origin.revision
        ),
        occurred_at=from_datetime(origin.occurred_at),
        actor_key=origin.actor_key,
        uri=origin.uri,
    )


def to_relevance(relevance: Relevance) -> retrieval_pb2.Relevance:
    """What abstention decided by."""
    return retrieval_pb2.Relevance(
        score=relevance.score,
        threshold=relevance.threshold,
        top_cosine=relevance.top_cosine,
        cosine_gap=relevance.cosine_gap,
        word_coverage=relevance.word_coverage,
    )


def to_degradations(found: Retrieved) -> list[retrieval_pb2.Degradation]:
    """The signals that should have taken part and did not."""
    return [
        retrieval_pb2.Degradation(signal=enum_value(signal), cause=enum_value(cause)) for signal, cause in found.missing
    ]
