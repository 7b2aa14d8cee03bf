"""What the contract's enums and scores are called in text for people."""

from collections.abc import Iterable
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.fact_pb2 import EvidenceClass
from palimpsest.v1.reference_pb2 import IMPORTANCE_CRITICAL, STATUS_DRAFT, STATUS_STALE, Status
from palimpsest.v1.retrieval_pb2 import (
    ABSTENTION_BELOW_THRESHOLD,
    ABSTENTION_DIFFUSE,
    ABSTENTION_NO_CANDIDATES,
    SIGNAL_AUTHOR,
    SIGNAL_GRAPH,
    SIGNAL_LEXICAL,
    SIGNAL_NEIGHBOR,
    SIGNAL_RERANK,
    SIGNAL_TIME,
    SIGNAL_TRIGRAM,
    SIGNAL_VECTOR,
    Abstention,
    Degradation,
    DegradationCause,
    DeltaState,
    Gate,
    GraphStep,
    ItemKind,
    PackItem,
    ProvenanceLink,
    Relevance,
    Signal,
    SignalScore,
)

from cli.output import when
from shared.intervals import interval
from shared.timestamps import to_datetime

QUERY_CUT = "The query was longer than a signal could take, and was cut for it."

_ABSTENTIONS = {
    ABSTENTION_NO_CANDIDATES: "no signal found anything",
    ABSTENTION_BELOW_THRESHOLD: "the best candidate is not relevant enough",
    ABSTENTION_DIFFUSE: "many candidates are equally near, and none stands out",
}
_SIGNALS = {
    SIGNAL_LEXICAL: "words",
    SIGNAL_TRIGRAM: "names",
    SIGNAL_VECTOR: "meaning",
    SIGNAL_GRAPH: "graph",
    SIGNAL_TIME: "time",
    SIGNAL_AUTHOR: "author",
    SIGNAL_NEIGHBOR: "neighbours",
    SIGNAL_RERANK: "reranking",
}


def why_empty(abstention: Abstention, relevance: Relevance) -> str:
    """One line on why an answer is empty, and what that was decided by."""
    if abstention not in _ABSTENTIONS:
        return "Nothing relevant."
    decided = f": {decided_by(relevance)}" if relevance.threshold else ""
    name = Abstention.Name(abstention).removeprefix("ABSTENTION_")
    return f"Nothing relevant: {_ABSTENTIONS[abstention]} [{name}]{decided}."


def decided_by(relevance: Relevance) -> str:
    """What abstention is decided by, as far as it was measured."""
    parts = [f"relevance {relevance.score:.2f}, needed {relevance.threshold:.2f}"]
    if relevance.HasField("top_cosine"):
        gap = f", {relevance.cosine_gap:.2f} above those behind it" if relevance.HasField("cosine_gap") else ""
        parts.append(f"nearest meaning {relevance.top_cosine:.2f}{gap}")
    if relevance.HasField("word_coverage"):
        parts.append(f"{relevance.word_coverage:.0%} of the query's words covered")
    return "; ".join(parts)


def degradations(degraded: Iterable[Degradation]) -> list[str]:
    """One line for each signal that did not take part."""
    return [
        f"Degraded: {signal_name(one.signal)} did not take part: "
        + _plain(DegradationCause.Name(one.cause), "DEGRADATION_CAUSE_")
        for one in degraded
    ]


def signal_name(signal: Signal) -> str:
    """The name of a signal."""
    return _SIGNALS.get(signal, f"signal {signal}")


def kind_name(kind: ItemKind) -> str:
    """What kind of thing an item is."""
    return _plain(ItemKind.Name(kind), "ITEM_KIND_")


def gate_name(gate: Gate) -> str:
    """What became of a candidate: `in`, or the gate that dropped it."""
    return _plain(Gate.Name(gate), "GATE_") if gate else "in"


def raw_scores(signals: Iterable[SignalScore]) -> str:
    """The raw score of each signal."""
    return ", ".join(f"{signal_name(one.signal)} {one.raw:.3g}" for one in signals)


def scores(signals: Iterable[SignalScore]) -> str:
    """Raw score, contribution and rank of each signal, in one line."""
    told = (
        f"{signal_name(one.signal)} {one.raw:.3g} (+{one.contribution:.3f}, rank {one.rank})"
        if one.rank
        else f"{signal_name(one.signal)} {one.raw:.3g} (+{one.contribution:.3f})"
        for one in signals
    )
    return " · ".join(told)


def provenance(link: ProvenanceLink) -> str:
    """Where an item comes from, and when, in one line."""
    actor = f" by {link.actor_key}" if link.actor_key else ""
    event = link.uri or link.source.external_id
    return f"{source_name(link)} {when(link.occurred_at)}{actor} {event}".strip()


def source_name(link: ProvenanceLink) -> str:
    """The system that reported, and its stream."""
    return "/".join(part for part in (link.source.system, link.source.stream) if part)


def marks(item: PackItem) -> list[str]:
    """What has to be known to weigh a packed item: the marks of the rendered pack, and the class of its evidence."""
    told = [_plain(DeltaState.Name(item.delta), "DELTA_STATE_")] if item.delta else []
    if item.importance == IMPORTANCE_CRITICAL:
        told.append("critical")
    confidence = f"confidence {item.confidence:.2f}" if item.HasField("confidence") else ""
    if item.hypothesis:
        told.append("hypothesis")
    if item.conflict:
        told.append("contradicted by other facts")
    if told_status := status_mark(item.status):
        told.append(told_status)
    evidence = _plain(EvidenceClass.Name(item.evidence), "EVIDENCE_CLASS_") if item.evidence else ""
    held = interval(_moment(item, "valid_from"), _moment(item, "valid_to"))
    return [*told, *filter(None, (confidence, evidence, held))]


def status_mark(status: Status) -> str:
    """`stale` or `draft`; empty for what is neither."""
    return _plain(Status.Name(status), "STATUS_") if status in (STATUS_STALE, STATUS_DRAFT) else ""


def step_arrow(step: GraphStep) -> str:
    """A step of a path, the way it was walked: `—R→` along its direction, `←R—` against it."""
    return f"←{step.relation}—" if step.reversed else f"—{step.relation}→"


def search_mode(name: str) -> str:
    """The contract's name of a mode such as `lexical`."""
    return f"SEARCH_MODE_{name.upper()}"


def _moment(item: PackItem, field: str) -> datetime | None:
    stamp: Timestamp = getattr(item, field)
    return to_datetime(stamp) if item.HasField(field) else None


def _plain(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower().replace("_", " ")
