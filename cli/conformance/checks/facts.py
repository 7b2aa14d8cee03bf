"""Facts: identity, evidence, ends, marks, history."""

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import PreconditionFailure
from grpc_status import rpc_status
from palimpsest.v1.fact_pb2 import (
    EVIDENCE_CLASS_ASSERTED,
    EVIDENCE_CLASS_INFERRED,
    FACT_CLOSURE_RETRACTED,
    FACT_CLOSURE_SUPERSEDED,
    FACT_EVENT_TYPE_ASSERTED,
    FACT_EVENT_TYPE_CLOSED,
    FACT_EVENT_TYPE_OBSOLETED,
    FACT_EVENT_TYPE_REINFORCED,
    FACT_EVENT_TYPE_RESTORED,
    FactRetraction,
    Literal,
)
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reference_pb2 import IMPORTANCE_HIGH

from cli.conformance.building import at, fact, from_now, id_of, observation
from cli.conformance.expecting import expect, missing, same
from cli.conformance.outcome import Broken
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_TEA = fact("person:anna", "LIKES", "thing:tea")


@tries("FA-1")
def intervals_coexist(probe: Probe) -> None:
    """One triple with two intervals is two facts, each true in its own; each type of value comes back as itself."""
    place = probe.place()
    early = fact("person:anna", "LIVES_IN", "city:omsk", valid_from=at(1), valid_to=at(2))
    late = fact("person:anna", "LIVES_IN", "city:omsk", valid_from=at(5), valid_to=at(6))
    place.say(early, late)
    for day, wanted in ((1.5, [early]), (3, []), (5.5, [late]), (6, [])):
        found = place.facts(at={"as_of": at(day)})
        same(found, [id_of(place.name, each) for each in wanted], f"facts as of day {day}")
    values = [
        Literal(text="42"), Literal(integer=42), Literal(decimal="42"), Literal(boolean=True),
        Literal(timestamp=at(7)), Literal(json='{"a": [1]}'),
    ]  # fmt: skip
    ids = place.say(*(fact("a:a", "IS", each) for each in values)).fact_ids
    same(len(set(ids)), len(values), "facts of values that differ in type only")
    same([place.fact(each).object.literal for each in ids], values, "the values")


@tries("FA-2")
def saying_it_again_adds_evidence(probe: Probe) -> None:
    """The id is the one that a client computes; a second observation adds evidence; the greater confidence stays."""
    place = probe.place()
    sure, unsure = (fact("person:anna", "LIKES", "thing:tea", confidence=each) for each in (0.9, 0.4))
    one = place.say(sure, days=1)
    two = place.say(unsure, days=2)
    wanted = id_of(place.name, sure)
    same([*one.fact_ids, *two.fact_ids], [wanted, wanted], "the ids")
    held = place.fact(wanted)
    same(sorted(held.observation_ids), sorted([one.observation_id, two.observation_id]), "the evidence")
    same((round(held.confidence, 6), held.observed_at), (0.9, at(1)), "confidence and first observation")
    same(place.facts(include_history=True), [wanted], "facts")


@tries("FA-3")
def a_fact_tells_all(probe: Probe) -> None:
    """Interval, importance, attributes, path, labels and expiry come back, with the ids of the evidence."""
    place = probe.place()
    said = fact(
        "person:anna", "WORKS_ON", "project:alpha", valid_from=at(1), valid_to=at(9), importance=IMPORTANCE_HIGH,
        confidence=0.5, attributes='{"role": "lead"}', source_path="notes/1.md", expires_at=from_now(30),
        scopes=["project:alpha"],
    )  # fmt: skip
    recorded = place.say(said, days=3)
    held = place.fact(recorded.fact_ids[0])
    for name in ("valid_from", "valid_to", "importance", "confidence", "source_path", "expires_at"):
        same(getattr(held, name), getattr(said.fact, name), name)
    same((held.subject_key, held.predicate), ("person:anna", "WORKS_ON"), "subject and predicate")
    same(held.attributes.replace(" ", ""), '{"role":"lead"}', "the attributes")
    same((list(held.scopes), list(held.observation_ids)), (["project:alpha"], [recorded.observation_id]), "labels")
    same(held.observed_at, at(3), "when it was observed")
    expect(held.recorded_at.seconds > at(9).seconds, "when it was learnt is not a moment of now")


@tries("FA-4")
def the_best_evidence_counts(probe: Probe) -> None:
    """A fact that was inferred, then asserted, is asserted; in either order."""
    classes = (EVIDENCE_CLASS_INFERRED, EVIDENCE_CLASS_ASSERTED)
    for order in (classes, classes[::-1]):
        place = probe.place()
        for number, each in enumerate(order):
            [said] = place.say(fact("a:a", "IS", "b:b", evidence=each), days=number).fact_ids
        same(place.fact(said).evidence, EVIDENCE_CLASS_ASSERTED, "the class")


@tries("FA-5")
def supersession_in_either_order(probe: Probe) -> None:
    """The newer fact closes the older at its own start and both name each other, whichever arrives first."""
    for forwards in (True, False):
        place = probe.place()
        old = fact("person:anna", "WORKS_ON", "project:alpha", valid_from=at(1))
        new = fact("person:anna", "WORKS_ON", "project:beta", valid_from=at(9), supersedes=[id_of(place.name, old)])
        said = [observation("1", old, days=1), observation("2", new, days=9)]
        for each in said if forwards else said[::-1]:
            place.record(each)
        closed, open_one = (place.fact(id_of(place.name, each)) for each in (old, new))
        same((closed.valid_to, closed.closure), (at(9), FACT_CLOSURE_SUPERSEDED), "the end of the older")
        same(list(closed.superseded_by), [open_one.fact_id], "what the older names")
        same(list(open_one.supersedes), [closed.fact_id], "what the newer names")
        same(place.facts(), [open_one.fact_id], "facts of now")
        same(place.facts(at={"as_of": at(5)}), [closed.fact_id], "facts before the newer")


@tries("FA-6")
def a_retraction_ends(probe: Probe) -> None:
    """A retracted fact ends where the retraction says, without a successor; the retraction may come first."""
    for forwards in (True, False):
        place = probe.place()
        ended = Assertion(retraction=FactRetraction(fact_id=id_of(place.name, _TEA), valid_to=at(5)))
        said = [observation("1", _TEA, days=1), observation("2", ended, days=2)]
        for each in said if forwards else said[::-1]:
            place.record(each)
        held = place.fact(id_of(place.name, _TEA))
        same((held.valid_to, held.closure), (at(5), FACT_CLOSURE_RETRACTED), "the end")
        same((place.facts(), list(held.superseded_by)), ([], []), "facts of now, and successors")


@tries("FA-8")
def without_evidence_in_no_answer(probe: Probe) -> None:
    """A redaction strikes its observation from the evidence; the fact stays while another holds it, then leaves."""
    place = probe.place()
    said = [place.say(_TEA, content="Anna likes tea", days=each) for each in (1, 2)]
    wanted = id_of(place.name, _TEA)
    place.do("RedactObservation", observation_id=said[0].observation_id)
    same(list(place.fact(wanted).observation_ids), [said[1].observation_id], "the evidence that is left")
    place.do("RedactObservation", observation_id=said[1].observation_id)
    same(place.facts(), [], "facts without evidence")
    expect(wanted not in place.found("anna likes tea", keep_irrelevant=True), "a fact without evidence is found")
    expect(
        not place.pack("anna likes tea", mode="SEARCH_MODE_LEXICAL").pack.items, "what lost its evidence is in a pack"
    )


@tries("FA-9")
def obsolete_by_exact_match(probe: Probe) -> None:
    """A part of a sentence marks nothing, two matches are refused with both ids; one match is marked, and unmarked."""
    place = probe.place()
    twice = [fact("person:anna", "LIKES", "thing:tea", valid_from=at(each)) for each in (1, 2)]
    coffee = fact("person:anna", "LIKES", "thing:coffee")
    place.say(*twice, coffee)
    missing(lambda: place.do("MarkObsolete", exact_text="anna likes"))
    missing(lambda: place.do("MarkObsolete", exact_text="anna likes coffees"))
    same(_candidates(place, "anna likes tea"), sorted(id_of(place.name, each) for each in twice), "the candidates")
    wanted = id_of(place.name, coffee)
    marked = place.do("MarkObsolete", exact_text="Anna LIKES coffee", reason="she stopped")
    same((marked.item_id, place.fact(wanted).obsolete_reason), (wanted, "she stopped"), "what was marked, and why")
    expect(wanted not in place.facts(), "an obsolete fact is listed as true now")
    expect(place.do("UnmarkObsolete", fact_id=wanted).changed, "there was no mark to take back")
    expect(wanted in place.facts(), "a fact whose mark was taken back is not listed")


@tries("FA-11")
def history_is_readable(probe: Probe) -> None:
    """Asserted, reinforced, obsolete, restored and closed are told in their order, with the fact as it was."""
    place = probe.place()
    wanted = id_of(place.name, _TEA)
    place.say(_TEA, days=1)
    place.say(_TEA, days=2)
    place.do("MarkObsolete", fact_id=wanted)
    place.do("UnmarkObsolete", fact_id=wanted)
    place.do("RetractFact", retraction=FactRetraction(fact_id=wanted, valid_to=at(3)), source={"system": "conformance",
             "external_id": "retraction"}, occurred_at=at(3))  # fmt: skip
    events = place.ask("GetFactHistory", fact_id=wanted).events
    wanted_types = [
        FACT_EVENT_TYPE_ASSERTED, FACT_EVENT_TYPE_REINFORCED, FACT_EVENT_TYPE_OBSOLETED, FACT_EVENT_TYPE_RESTORED,
        FACT_EVENT_TYPE_CLOSED,
    ]  # fmt: skip
    same([each.type for each in events], wanted_types, "the events")
    same([each.fact.HasField("valid_to") for each in events], [False] * 4 + [True], "whether it had ended by then")
    moments = [each.recorded_at.ToNanoseconds() for each in events]
    same(moments, sorted(moments), "the order of moments")


def _candidates(place: Place, text: str) -> list[str]:
    try:
        place.do("MarkObsolete", exact_text=text)
    except grpc.RpcError as error:
        same(error.code().name, "FAILED_PRECONDITION", "the answer to what matches twice")
        status = rpc_status.from_call(error)
        return sorted(_subjects(status.details if status else ()))
    raise Broken("one of two matches was chosen")


def _subjects(details: "tuple[AnyMessage, ...] | list[AnyMessage]") -> list[str]:
    found = PreconditionFailure()
    return [one.subject for detail in details if detail.Unpack(found) for one in found.violations]
