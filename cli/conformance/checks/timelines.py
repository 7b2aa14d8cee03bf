"""Facts in time: conflicts and timelines, two axes, corrections."""

import itertools

from palimpsest.v1.fact_pb2 import FACT_CLOSURE_CORRECTED, FACT_CLOSURE_TIMELINE, FactCorrection
from palimpsest.v1.namespace_pb2 import (
    CARDINALITY_MANY,
    CARDINALITY_ONE,
    CONFLICT_POLICY_KEEP,
    CONFLICT_POLICY_SUPERSEDE,
    DomainPack,
    PackRelation,
)

from cli.conformance.building import at, entity, fact, from_now, id_of, observation, source
from cli.conformance.expecting import expect, invalid, missing, same
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

_PACK = DomainPack(
    pack="conformance",
    version=1,
    relations=[
        PackRelation(relation="LIVES_IN", cardinality=CARDINALITY_ONE, on_conflict=CONFLICT_POLICY_SUPERSEDE),
        PackRelation(relation="BORN_IN", cardinality=CARDINALITY_ONE, on_conflict=CONFLICT_POLICY_KEEP),
        PackRelation(relation="LIKES", cardinality=CARDINALITY_MANY),
    ],
)


@tries("FA-7")
def one_timeline(probe: Probe) -> None:
    """Three homes are one timeline in all six orders of arrival: each ends where the next begins."""
    homes = [fact("person:anna", "LIVES_IN", f"city:{each}", valid_from=at(each)) for each in (1, 5, 9)]
    for order in itertools.permutations(range(3)):
        place = probe.place()
        place.enable(_PACK)
        for number in order:
            place.record(observation(str(number), homes[number], days=number))
        held = [place.fact(id_of(place.name, each)) for each in homes]
        ends = [each.valid_to if each.HasField("valid_to") else None for each in held]
        same(ends, [at(5), at(9), None], "the ends")
        same({each.closure for each in held[:2]}, {FACT_CLOSURE_TIMELINE}, "why they ended")


@tries("FA-7")
def conflicts_are_marked(probe: Probe) -> None:
    """Two birthplaces are both kept, and rivals in a pack; two likings are none."""
    place = probe.place()
    place.enable(_PACK)
    born = [fact("person:anna", "BORN_IN", f"city:{each}") for each in ("omsk", "tula")]
    likes = [fact("person:anna", "LIKES", f"thing:{each}") for each in ("tea", "jazz")]
    place.say(*born, *likes)
    ids = [id_of(place.name, each) for each in born]
    expect(set(ids) <= set(place.facts()), "one side of a conflict is not kept")
    items = {item.item_id: item for item in place.pack("anna born likes", mode="SEARCH_MODE_LEXICAL").pack.items}
    same([sorted(items[each].rival_fact_ids) for each in ids], [[ids[1]], [ids[0]]], "the rivals")
    expect(all(items[each].conflict for each in ids), "a conflict is not marked")
    others = [items[each].conflict for each in (id_of(place.name, one) for one in likes) if each in items]
    expect(not any(others), "values of a predicate with many are marked as a conflict")


@tries("FA-10")
def two_axes(probe: Probe) -> None:
    """What was believed at a moment stays the answer about it, whatever is said later; the future is refused."""
    place = probe.place()
    old = fact("person:anna", "WORKS_ON", "project:alpha", valid_from=at(1))
    new = fact("person:anna", "WORKS_ON", "project:beta", valid_from=at(5), supersedes=[id_of(place.name, old)])
    never = place.moment()
    place.say(entity("person:anna", title="Anna"), old, days=1)
    then = place.moment()
    before = place.ask("ListFacts", at={"as_of": at(7), "known_at": then})
    place.say(entity("person:anna", title="Anna P."), new, days=5)
    same(place.facts(at={"as_of": at(7)}), [id_of(place.name, new)], "what was true on day 7, as known now")
    same(place.facts(at={"as_of": at(3)}), [id_of(place.name, old)], "what was true on day 3, as known now")
    again = place.ask("ListFacts", at={"as_of": at(7), "known_at": then})
    same(again, before, "what was believed then of day 7")
    same([each.fact_id for each in again.facts], [id_of(place.name, old)], "the fact that was believed then")
    same(place.entity("person:anna", at={"known_at": then}).title, "Anna", "the title that was known then")
    missing(lambda: place.fact(id_of(place.name, old), at={"known_at": never}))
    invalid(lambda: place.ask("ListFacts", at={"known_at": from_now(1)}), "at.known_at")


@tries("FA-12")
def a_correction(probe: Probe) -> None:
    """The wrong fact is true at no moment, the right one is; as known before, the wrong one was."""
    place = probe.place()
    wrong = fact("person:anna", "BORN_IN", "city:omsk", valid_from=at(1))
    right = fact("person:anna", "BORN_IN", "city:tula", valid_from=at(1))
    place.say(wrong)
    then = place.moment()
    said = FactCorrection(fact_id=id_of(place.name, wrong), replacement=right.fact, reason="a slip")
    done = place.do("CorrectFact", correction=said, source=source("correction"), occurred_at=at(2))
    same(done.fact.fact_id, id_of(place.name, right), "the fact that is right")
    for day in (0.5, 1.5, 100):
        found = place.facts(at={"as_of": at(day)})
        expect(id_of(place.name, wrong) not in found, f"the wrong fact is true on day {day}")
    same(place.facts(), [id_of(place.name, right)], "facts of now")
    held = place.fact(id_of(place.name, wrong))
    same((held.closure, list(held.superseded_by)), (FACT_CLOSURE_CORRECTED, [done.fact.fact_id]), "its end")
    believed = place.facts(at={"as_of": at(3), "known_at": then})
    same(believed, [id_of(place.name, wrong)], "what was believed before")
