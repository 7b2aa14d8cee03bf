"""The audit, redaction, erasure, un-learning."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import Message
from palimpsest.audit import check_chain
from palimpsest.v1.governance_pb2 import AuditEvent, ErasureSelector
from palimpsest.v1.observation_pb2 import OBSERVATION_STATUS_REDACTED

from cli.conformance.building import SYSTEM, document, entity, fact, id_of, link, observation, ref, typed
from cli.conformance.expecting import expect, missing, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_CANARY = "wheatearobsidian"
_TELLING = 14
"""How many reading RPCs tell of a thing that has all that a thing can have."""
_TEA = fact("person:anna", "LIKES", "thing:tea")


@tries("AU-1")
def the_chain_is_whole(probe: Probe) -> None:
    """Explicit events, deletions and changes of settings are chained by hashes that are computed here, by trace too."""
    place = probe.place()
    place.do("AppendAudit", action="export", target="obs-1", details='{"rows": 2}', trace_id="trace-1")
    place.say(entity("person:secret", title=_CANARY), _TEA)
    place.do("DeleteItem", entity=ref("person:secret"), reason="a test")
    place.configure(strict=False)
    events = list(_events(place))
    checked = check_chain(place.name, events)
    same((checked.fault, checked.events), ("", len(events)), "the chain")
    actions = [each.action for each in events]
    same(actions[:1], ["export"], "the first event")
    expect({"delete", "settings_change"} <= set(actions), f"the audit has {actions}")
    expect(_CANARY not in "".join(each.details + each.target for each in events), "a deletion keeps the title")
    by_trace = place.ask("ListAuditEvents", trace_id="trace-1").events
    same([(each.action, json.loads(each.details)) for each in by_trace], [("export", {"rows": 2})], "events of a trace")


@tries("AU-2")
def redaction_keeps_the_identity(probe: Probe) -> None:
    """A redacted observation has its id and hash and no content; again it is a duplicate; purged, it is gone."""
    place = probe.place()
    said = observation("1", _TEA, content=f"Anna likes tea, {_CANARY}")
    recorded = place.record(said)
    before = place.ask("GetObservation", observation_id=recorded.observation_id).observation
    receipt = place.do("RedactObservation", observation_id=recorded.observation_id).receipt
    expect(receipt.receipt_id and receipt.audit_hash, "a redaction has no receipt")
    after = place.ask("GetObservation", observation_id=recorded.observation_id).observation
    same((after.status, after.content_hash), (OBSERVATION_STATUS_REDACTED, before.content_hash), "what stays")
    same((after.observation.content, len(after.observation.assertions)), ("", 0), "what is left of the content")
    same(place.found(_CANARY, keep_irrelevant=True), [], "what is found of the content")
    again = place.record(said)
    same((again.duplicate, again.status, place.facts()), (True, OBSERVATION_STATUS_REDACTED, []), "a late delivery")
    place.do("Purge", selector=ErasureSelector(observation_id=recorded.observation_id))
    missing(lambda: place.ask("GetObservation", observation_id=recorded.observation_id))


@tries("AU-3")
def what_was_purged_is_in_no_answer(probe: Probe) -> None:
    """A preview erases nothing; after the purge a canary is in no answer of any RPC, and the receipt counts it."""
    place = probe.place()
    key = f"person:{_CANARY}"
    said = observation(
        "secret", entity(key, title=f"Title {_CANARY}", aliases=[f"{_CANARY} alias"]), fact(key, "LIKES", "thing:tea"),
        document(f"doc:{_CANARY}", f"The {_CANARY} sleeps in the cellar of the old mill since October."),
        link(f"doc:{_CANARY}", "MENTIONS", "thing:tea"),
        subject=typed(key), content=f"said of {_CANARY}", data=f'{{"of": "{_CANARY}"}}',
    )  # fmt: skip
    place.say(entity("thing:tea", title="Tea"))
    recorded = place.record(said)
    packed = place.pack(f"where does the {_CANARY} sleep since October", mode="SEARCH_MODE_LEXICAL")
    expect(_CANARY in packed.pack.rendered, "the canary is not found before the purge")
    names = _Names(key, f"doc:{_CANARY}", recorded.observation_id, recorded.fact_ids[0], packed.trace_id)
    told = {rpc for rpc, answer in _sweep(place, names) if _holds(answer)}
    expect(len(told) >= _TELLING, f"before the purge only {sorted(told)} tell what is to be purged")
    selector = ErasureSelector(subject=typed(key))
    preview = place.do("Purge", selector=selector, dry_run=True).receipt
    expect(place.entity(key).title and not preview.receipt_id, "a preview erased something")
    receipt = place.do("Purge", selector=selector).receipt
    for name in ("observations", "entities", "facts", "chunks"):
        expect(receipt.counts[name], f"the receipt counts no {name}")
        same(receipt.counts[name], preview.counts[name], f"{name} of the preview and of the purge")
    read = place.ask("GetErasureReceipt", receipt_id=receipt.receipt_id).receipt
    same(read, receipt, "the receipt that is read later")
    for rpc, answer in _sweep(place, names):
        expect(not _holds(answer), f"what was purged is in the answer of {rpc}")
    expect(place.record(said).duplicate, "what was purged is stored again when it is delivered again")
    expect(place.entity("thing:tea").title == "Tea", "what others said is purged, too")


@tries("AU-4")
def a_source_is_unlearnt(probe: Probe) -> None:
    """What a stream said since a moment is taken back as a set, after a preview that says the same."""
    place = probe.place()
    place.record(observation("1", _TEA, entity("person:anna", title="Anna"), stream="bad"))
    place.record(observation("2", fact("person:boris", "LIKES", "thing:tea"), stream="good"))
    since, before = place.moment(), place.ask("Digest").digest
    place.record(observation("3", fact("person:anna", "LIKES", "thing:poison"), stream="bad", days=1))
    place.record(observation("4", entity("person:anna", title="Mallory"), stream="bad", days=2))
    rolled_back = partial(place.do, "RollbackSource", system=SYSTEM, stream="bad", recorded_from=since)
    preview = rolled_back(dry_run=True).summary
    same(place.entity("person:anna").title, "Mallory", "the title after a preview")
    done = rolled_back()
    same((done.summary.observations, done.summary.facts), (2, 1), "what was taken back")
    same(done.summary, preview, "the preview and what was done")
    same(place.entity("person:anna").title, "Anna", "the title")
    same(place.facts(), sorted(id_of(place.name, each) for each in (_TEA, fact("person:boris", "LIKES", "thing:tea"))),
         "the facts")  # fmt: skip
    same(place.ask("Digest").digest, before, "the digest")


class _Names:
    """What the purged thing was called, by every name that a caller may still have."""

    def __init__(self, key: str, text_key: str, observation_id: str, fact_id: str, trace_id: str) -> None:
        self.key, self.text_key = ref(key), ref(text_key)
        self.observation_id, self.fact_id, self.trace_id = observation_id, fact_id, trace_id


def _sweep(place: Place, names: _Names) -> Iterator[tuple[str, Message]]:
    """Each reading RPC, and its answer; what is NOT_FOUND has none."""
    asked: dict[str, Callable[[], Any]] = {
        "Search": lambda: place.search("tea text title", keep_irrelevant=True, limit=200),
        "CompileContext": lambda: place.pack("tea text title alias"),
        "GetEntity": lambda: place.ask("GetEntity", entity=names.key),
        "ListEntities": lambda: place.ask("ListEntities", include_placeholders=True, include_history=True),
        "GetFact": lambda: place.ask("GetFact", fact_id=names.fact_id),
        "ListFacts": lambda: place.ask("ListFacts", include_history=True),
        "GetFactHistory": lambda: place.ask("GetFactHistory", fact_id=names.fact_id),
        "GetObservation": lambda: place.ask("GetObservation", observation_id=names.observation_id),
        "ListObservations": lambda: place.ask("ListObservations"),
        "GetSource": lambda: place.ask("GetSource", entity=names.text_key),
        "ListChunks": lambda: place.ask("ListChunks", entity=names.text_key),
        "ListNeighbors": lambda: place.ask("ListNeighbors", entity=ref("thing:tea")),
        "Traverse": lambda: place.ask("Traverse", anchors=[ref("thing:tea"), names.key], depth=3),
        "GetContextTrace": lambda: place.ask("GetContextTrace", trace_id=names.trace_id or "none"),
        "Explain": lambda: place.ask("Explain", trace_id=names.trace_id or "none", item_id=names.fact_id),
        "ListLinkClaims": lambda: place.ask("ListLinkClaims"),
        "ListDuplicateProposals": lambda: place.ask("ListDuplicateProposals"),
        "ListAuditEvents": lambda: place.ask("ListAuditEvents"),
        "ListSources": lambda: place.ask("ListSources"),
        "GetMemoryHealth": lambda: place.ask("GetMemoryHealth"),
    }
    for rpc, ask in asked.items():
        try:
            yield rpc, ask()
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise


def _holds(answer: Message) -> bool:
    return _CANARY.encode() in answer.SerializeToString()


def _events(place: Place) -> Iterator[AuditEvent]:
    after = 0
    while events := place.ask("ListAuditEvents", after_sequence=after, page_size=1000).events:
        yield from events
        after = events[-1].sequence
