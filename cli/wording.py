"""What the contract's enums are called in text for people."""

from collections.abc import Iterable

from palimpsest.v1.retrieval_pb2 import (
    ABSTENTION_BELOW_THRESHOLD,
    ABSTENTION_DIFFUSE,
    ABSTENTION_NO_CANDIDATES,
    Abstention,
    Degradation,
    DegradationCause,
    ItemKind,
    ProvenanceLink,
    Relevance,
    Signal,
    SignalScore,
)

from cli.output import when

_ABSTENTIONS = {
    ABSTENTION_NO_CANDIDATES: "no signal found anything",
    ABSTENTION_BELOW_THRESHOLD: "the best candidate is not relevant enough",
    ABSTENTION_DIFFUSE: "many candidates are equally near, and none stands out",
}


def why_empty(abstention: Abstention, relevance: Relevance) -> str:
    """One line on why an answer is empty."""
    if abstention not in _ABSTENTIONS:
        return "Nothing relevant."
    measured = f" (relevance {relevance.score:.2f}, needed {relevance.threshold:.2f})" if relevance.threshold else ""
    name = Abstention.Name(abstention).removeprefix("ABSTENTION_")
    return f"Nothing relevant: {_ABSTENTIONS[abstention]}{measured} [{name}]."


def degradations(degraded: Iterable[Degradation]) -> list[str]:
    """One line for each signal that did not take part."""
    return [
        f"Degraded: {signal_name(one.signal)} did not take part: "
        + DegradationCause.Name(one.cause).removeprefix("DEGRADATION_CAUSE_").lower().replace("_", " ")
        for one in degraded
    ]


def signal_name(signal: Signal) -> str:
    """The name of a signal."""
    return Signal.Name(signal).removeprefix("SIGNAL_")


def kind_name(kind: ItemKind) -> str:
    """What kind of thing an item is."""
    return ItemKind.Name(kind).removeprefix("ITEM_KIND_").lower()


def scores(signals: Iterable[SignalScore]) -> str:
    """The raw score of each signal."""
    return " ".join(f"{signal_name(one.signal).lower()} {one.raw:.3g}" for one in signals)


def provenance(link: ProvenanceLink) -> str:
    """Where an item comes from, and when, in one line."""
    source = "/".join(part for part in (link.source.system, link.source.stream) if part)
    event = link.uri or link.source.external_id
    actor = f" by {link.actor_key}" if link.actor_key else ""
    return f"{source} {when(link.occurred_at)}{actor} {event}".strip()


def search_mode(name: str) -> str:
    """The contract's name of a mode such as `lexical`."""
    return f"SEARCH_MODE_{name.upper()}"
