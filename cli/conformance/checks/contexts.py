"""Packs: budget, order, provenance, sameness, traces, deltas, verification."""

import math
from functools import partial
from typing import Any

from palimpsest.v1.reader_service_pb2 import CompileContextResponse
from palimpsest.v1.record_pb2 import RULE_SCOPE_GLOBAL, Rule
from palimpsest.v1.reference_pb2 import IMPORTANCE_CRITICAL, STATUS_STALE
from palimpsest.v1.retrieval_pb2 import (
    DELTA_STATE_CHANGED,
    DELTA_STATE_NEW,
    DELTA_STATE_NO_LONGER_TRUE,
    GATE_BUDGET,
    GATE_NOT_FOUND,
    GATE_SUPERSEDED,
    GATE_UNSPECIFIED,
    VERDICT_CONTRADICTED,
    VERDICT_NOT_IN_MEMORY,
    VERDICT_SUPPORTED,
    Budget,
)

from cli.conformance.building import at, document, fact, id_of, record
from cli.conformance.checks.retrieval import told
from cli.conformance.expecting import expect, invalid, missing, same
from cli.conformance.outcome import Unseen
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_WORD = "avocetshale"


@tries("RE-6")
def budgets_are_kept(probe: Probe) -> None:
    """At eight budgets no pack is longer, items are whole, and what did not fit is counted and named."""
    place = probe.place()
    for number in range(30):
        text = f"{_WORD} note{number} " + "говорит о разном, and of more. " * (1 + number % 5)
        place.say(document(f"doc:{number}", text), days=number)
    whole = {item.item_id: item.text for item in _by_words(place, _WORD, budget=Budget(characters=100_000)).pack.items}
    for budget in (*(Budget(characters=each) for each in (200, 300, 500, 1000, 3000)),
                   *(Budget(tokens=each) for each in (60, 150, 500))):  # fmt: skip
        pack = _by_words(place, _WORD, budget=budget).pack
        same(pack.characters, len(pack.rendered), "the length that is told")
        unit = budget.WhichOneof("amount") or ""
        used = len(pack.rendered) if unit == "characters" else estimated_tokens(pack.rendered)
        expect(used <= getattr(budget, unit), f"a pack of {used} {unit} for a budget of {getattr(budget, unit)}")
        expect(all(whole.get(item.item_id) == item.text for item in pack.items), "an item is cut")
        expect(pack.omitted_count and pack.omitted, f"what did not fit {getattr(budget, unit)} {unit} is not told")
        expect(not {item.item_id for item in pack.items} & set(pack.omitted), "what is in is told to be omitted")
    usual = _by_words(place, _WORD).pack
    expect(len(usual.rendered) <= 2800, f"without a budget a pack has {len(usual.rendered)} characters")
    for budget in (Budget(characters=100), Budget(tokens=1)):
        invalid(partial(place.pack, _WORD, budget=budget), f"budget.{budget.WhichOneof('amount')}")


@tries("RE-6a")
def critical_first_unsure_as_such(probe: Probe) -> None:
    """A critical rule comes before better matches; a fact of low confidence is marked as a hypothesis."""
    place = probe.place()
    unsure = fact("person:anna", "OWNS", f"thing:{_WORD}", confidence=0.2)
    sure = fact("person:boris", "OWNS", f"thing:{_WORD}", confidence=0.95)
    place.say(document("doc:a", f"{_WORD} {_WORD} {_WORD} is everywhere"), unsure, sure)
    rule = Rule(text=f"never sell the {_WORD}", scope=RULE_SCOPE_GLOBAL)
    place.say(record("rule:a", f"never sell the {_WORD}", rule=rule, importance=IMPORTANCE_CRITICAL))
    items = _by_words(place, _WORD).pack.items
    same(items[0].item_id, "rule:a", "the first item")
    marked = {item.item_id: item.hypothesis for item in items}
    found = marked.get(id_of(place.name, unsure)), marked.get(id_of(place.name, sure))
    same(found, (True, False), "what is marked as a hypothesis: the unsure and the sure one")
    expect(all(item.status != STATUS_STALE for item in items), "what nobody changed is stale")


@tries("RE-7")
def an_item_tells_its_source(probe: Probe) -> None:
    """Each item leads to its source's event; Explain tells the gates: in, superseded, budget, not found."""
    place = probe.place()
    old = fact("person:anna", "OWNS", f"thing:{_WORD}", valid_from=at(1))
    new = fact("person:anna", "OWNS", f"thing:{_WORD}2", valid_from=at(5), supersedes=[id_of(place.name, old)])
    place.say(old, external_id="old", days=1)
    place.say(new, external_id="new", days=5)
    for number in range(12):
        place.say(document(f"doc:{number}", f"anna owns {_WORD} " + f"filler{number} " * 40), days=6)
    answer = _by_words(place, f"anna owns {_WORD}", budget=Budget(characters=600))
    items = answer.pack.items
    expect(items, "the pack is empty")
    for item in items:
        expect(item.provenance and item.signals, f"{item.item_id} has no source, or no scores")
        same(item.provenance[0].source.system, "conformance", "the system that an item came from")
    if not answer.trace_id:
        raise Unseen("this reader leaves no traces")
    cases = {
        items[0].item_id: GATE_UNSPECIFIED,
        id_of(place.name, old): GATE_SUPERSEDED,
        answer.pack.omitted[0]: GATE_BUDGET,
        "chunk:doc:nowhere#0": GATE_NOT_FOUND,
    }
    for item_id, gate in cases.items():
        told_so = place.ask("Explain", trace_id=answer.trace_id, item_id=item_id)
        same((told_so.gate, bool(told_so.explanation)), (gate, True), f"the gate of {item_id}")


@tries("RE-8")
def packs_are_equal(probe: Probe) -> None:
    """One request five times gives one pack to the byte; the rendered text is wrapped and names each item's number."""
    place = told(probe)
    place.embedded()
    query = "how often does the gateway retry failed requests?"
    answers = [place.pack(query) for _ in range(5)]
    if any(each.degraded for each in answers):
        raise Unseen("the reader did not reach its embedder in time")
    same(len({each.pack.SerializeToString(deterministic=True) for each in answers}), 1, "packs of one request")
    pack = answers[0].pack
    expect(pack.items and all(f"[{item.number}]" in pack.rendered for item in pack.items), "items are not numbered")
    expect(pack.pack_id in pack.rendered, "the wrapper does not name the pack")


@tries("RE-9")
def a_trace_is_left(probe: Probe) -> None:
    """The trace of a compilation has its query, candidates with their gates, and timings; another id is NOT_FOUND."""
    place = told(probe)
    answer = place.pack("how often does the gateway retry failed requests?", mode="SEARCH_MODE_LEXICAL")
    expect(answer.pack.items, "the pack is empty")
    if not answer.trace_id:
        raise Unseen("this reader leaves no traces")
    trace = place.ask("GetContextTrace", trace_id=answer.trace_id).trace
    same((trace.pack_id, trace.query), (answer.pack.pack_id, "how often does the gateway retry failed requests?"),
         "the pack and query of the trace")  # fmt: skip
    chosen = {each.item_id for each in trace.candidates if not each.gate}
    same(chosen, {item.item_id for item in answer.pack.items}, "the candidates that are in")
    expect(trace.timings_ms and trace.HasField("compiled_at"), "the trace has no timings")
    missing(lambda: place.ask("GetContextTrace", trace_id="no-such-trace"))


@tries("RE-14")
def a_delta_tells_what_changed(probe: Probe) -> None:
    """After a supersession and a new text a delta tells over, new and changed; the next one tells nothing."""
    place = probe.place()
    same_as_before = fact("service:gateway", "RUNS_ON", "host:a")
    old = fact("service:gateway", "OWNED_BY", "team:red", valid_from=at(0))
    place.say(same_as_before, old, document("doc:1", "The gateway is old."))
    first = place.pack("gateway", mode="SEARCH_MODE_LEXICAL").pack
    new = fact("service:gateway", "OWNED_BY", "team:blue", valid_from=at(5), supersedes=[id_of(place.name, old)])
    place.say(new, document("doc:1", "The gateway is new."), days=5)
    delta = place.pack("gateway", mode="SEARCH_MODE_LEXICAL", since_pack_id=first.pack_id).pack
    states = {item.item_id: item.delta for item in delta.items}
    wanted = {
        id_of(place.name, old): DELTA_STATE_NO_LONGER_TRUE,
        id_of(place.name, new): DELTA_STATE_NEW,
        "chunk:doc:1#0": DELTA_STATE_CHANGED,
    }
    same(states, wanted, "what a delta tells")
    again = place.pack("gateway", mode="SEARCH_MODE_LEXICAL", since_pack_id=delta.pack_id).pack
    same((len(again.items), again.rendered), (0, ""), "a delta after nothing changed")
    missing(lambda: place.pack("gateway", since_pack_id="pack-000000000000000000000000"))


@tries("RE-15")
def sentences_are_verified(probe: Probe) -> None:
    """A sentence as it stands is supported, one of another day contradicted, another not in memory."""
    place = probe.place()
    place.say(document("doc:a", "The gateway retries 3 times. Шлюз перезапустили 7 августа."))
    pack = place.pack("gateway шлюз", mode="SEARCH_MODE_LEXICAL").pack
    expect(pack.items, "the pack is empty")
    answer = "The gateway retries 3 times [1]. Шлюз перезапустили 8 августа. Lunch is at noon."
    found = place.ask("Verify", pack_id=pack.pack_id, answer=answer).sentences
    verdicts = [each.verdict for each in found]
    same(verdicts, [VERDICT_SUPPORTED, VERDICT_CONTRADICTED, VERDICT_NOT_IN_MEMORY], "the verdicts")
    same(found[0].quote, "The gateway retries 3 times", "the quote")
    expect(all(answer[each.start : each.end] == each.sentence for each in found), "a sentence is not where it is said")
    missing(lambda: place.ask("Verify", pack_id="pack-000000000000000000000000", answer="x"))


def _by_words(place: Place, query: str, **fields: Any) -> CompileContextResponse:
    """A pack that does not depend on which vectors have come by now."""
    return place.pack(query, mode="SEARCH_MODE_LEXICAL", **fields)


def estimated_tokens(text: str) -> int:
    """Tokens as the contract estimates them: one per four bytes of Latin, one per two characters of other scripts."""
    latin = sum(character.isascii() for character in text)
    return math.ceil(latin / 4 + (len(text) - latin) / 2)
