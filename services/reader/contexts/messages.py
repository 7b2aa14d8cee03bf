"""Packs and traces between the contract's messages and the reader's values."""

from __future__ import annotations

from datetime import datetime

from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import reference_pb2, retrieval_pb2

from services.reader.compiler.compiling import Compilation
from services.reader.compiler.delta import Former
from services.reader.compiler.gates import Gate
from services.reader.compiler.items import NO_LONGER_TRUE, Item
from services.reader.contexts.trace_store import Trace
from services.reader.messages import enum_value, parsed
from services.reader.queries.explain import Explanation, TracedItem
from services.reader.queries.verify import PackedItem
from services.reader.request_messages import to_query
from services.reader.retrieval.fusion import SignalScore
from services.reader.retrieval.signals import SIGNALS, Signal
from services.reader.retrieval_messages import (
    add_signals,
    to_degradations,
    to_pack,
    to_pack_item,
    to_provenance_link,
    to_relevance,
)
from services.reader.rows import Filter, Origin, Row
from services.reader.verifying.verdicts import PackedText, Verified
from shared.normal_form import normal_form
from shared.timestamps import from_datetime, to_datetime

# More than any confidence, and less: a hypothesis stays one, whatever the setting says by now.
_ALWAYS, _NEVER = 2.0, -1.0


def to_trace(
    request: pb.CompileContextRequest,
    compilation: Compilation,
    compiled_at: datetime,
    pack: retrieval_pb2.ContextPack | None = None,
) -> Trace:
    """What is kept of a compilation, whose pack may be a message already."""
    pack = pack or to_pack(compilation.pack)
    trace_id = f"{pack.pack_id}-{int(compiled_at.timestamp() * 1_000_000):x}"
    known = retrieval_pb2.ContextPack(items=(to_pack_item(0, item) for item in compilation.known))
    return Trace(
        trace_id=trace_id,
        pack_id=pack.pack_id,
        compiled_at=compiled_at,
        kept_s=compilation.traces_kept_s,
        request=request.SerializeToString(),
        trace=_trace(request, compilation, trace_id, compiled_at).SerializeToString(),
        pack=pack.SerializeToString(),
        known=known.SerializeToString(),
        item_keys=compilation.names,
        observation_ids=compilation.observation_ids,
    )


def _trace(
    request: pb.CompileContextRequest, compilation: Compilation, trace_id: str, compiled_at: datetime
) -> retrieval_pb2.ContextTrace:
    found = compilation.found
    trace = retrieval_pb2.ContextTrace(
        trace_id=trace_id,
        namespace=request.namespace,
        compiled_at=from_datetime(compiled_at),
        query=request.query,
        pack_id=compilation.pack.pack_id,
        timings_ms=compilation.timings_ms,
        degraded=to_degradations(found),
        abstention=enum_value(found.abstention),
        relevance=to_relevance(found.relevance),
    )
    for place, gate in compilation.candidates:
        candidate = trace.candidates.add(item_id=place.item_id, score=place.score, gate=enum_value(gate))
        add_signals(candidate.signals, place.signals)
    return trace


def to_former(packed: Row) -> Former:
    """What a stored pack and those before it told."""
    messages = [*_pack(packed["known"]).items, *_pack(packed["pack"]).items]
    return Former(
        {message.item_id: _item(message) for message in messages if message.delta != NO_LONGER_TRUE},
        frozenset(packed["item_keys"]),
    )


def to_packed_items(packed: Row) -> list[PackedItem]:
    """The items of a stored pack, as answers are held against them."""
    return [
        PackedItem(
            PackedText(item.number, item.text, item.delta == NO_LONGER_TRUE, item.hypothesis),
            item.item_id if item.kind == retrieval_pb2.ITEM_KIND_FACT else "",
        )
        for item in _pack(packed["pack"]).items
    ]


def to_request(stored: Row) -> tuple[Filter, str]:
    """What a stored compilation sought: its filter, and its words where it sought words."""
    request = parsed(pb.CompileContextRequest, stored["request"])
    query = to_query(request, limit=0)
    return query.wanted, query.text if Signal.LEXICAL in SIGNALS[query.mode] else ""


def to_traced_item(stored: Row, item_id: str) -> TracedItem:
    """What a stored trace says of an item."""
    trace = parsed(retrieval_pb2.ContextTrace, stored["trace"])
    packed = next((item for item in _pack(stored["pack"]).items if item.item_id == item_id), None)
    candidate = next((each for each in trace.candidates if each.item_id == item_id), None)
    return TracedItem(
        gate=None if candidate is None else Gate(candidate.gate),
        number=packed.number if packed else 0,
        signals=() if candidate is None else _signals(candidate.signals),
        compiled_at=stored["compiled_at"],
        is_abstention=bool(trace.abstention),
        has_vectors=bool(trace.relevance.HasField("top_cosine")),
    )


def to_explain_response(explanation: Explanation) -> pb.ExplainResponse:
    """Why an item is in a pack, or is not."""
    message = pb.ExplainResponse(
        gate=enum_value(explanation.gate),
        explanation=explanation.words,
        provenance=map(to_provenance_link, explanation.provenance),
    )
    add_signals(message.signals, explanation.signals)
    return message


def to_verify_response(sentences: list[Verified]) -> pb.VerifyResponse:
    """What memory says of each sentence."""
    return pb.VerifyResponse(
        sentences=(
            retrieval_pb2.VerifiedSentence(
                sentence=each.sentence,
                start=each.start,
                end=each.end,
                verdict=enum_value(each.verdict),
                item_number=each.number,
                quote=each.quote,
            )
            for each in sentences
        )
    )


def _pack(raw: bytes) -> retrieval_pb2.ContextPack:
    return parsed(retrieval_pb2.ContextPack, raw)


def _item(message: retrieval_pb2.PackItem) -> Item:
    return Item(
        kind=message.kind,
        item_id=message.item_id,
        text=message.text,
        compared=" ".join(normal_form(message.text).split()),
        title="",
        score=message.score,
        signals=_signals(message.signals),
        status=message.status,
        valid_from=to_datetime(message.valid_from) if message.HasField("valid_from") else None,
        valid_to=to_datetime(message.valid_to) if message.HasField("valid_to") else None,
        evidence=message.evidence,
        confidence=message.confidence if message.HasField("confidence") else None,
        importance=message.importance,
        source_path="",
        provenance=tuple(map(_origin, message.provenance)),
        hypothesis_below=_ALWAYS if message.hypothesis else _NEVER,
        rivals=tuple(message.rival_fact_ids),
    )


def _signals(messages: object) -> tuple[SignalScore, ...]:
    return tuple(
        SignalScore(Signal(message.signal), message.raw, message.contribution, message.rank)
        for message in messages  # type: ignore[attr-defined]  # a container of messages
    )


def _origin(message: retrieval_pb2.ProvenanceLink) -> Origin:
    source: reference_pb2.SourceIdentity = message.source
    return Origin(
        observation_id=message.observation_id,
        system=source.system,
        stream=source.stream,
        external_id=source.external_id,
        revision=source.revision,
        occurred_at=to_datetime(message.occurred_at),
        actor_key=message.actor_key,
        uri=message.uri,
    )
