"""Entities: one by key, the latest value of each field, placeholders, duplicates that are only proposed."""

import itertools

from palimpsest.v1.entity_pb2 import DUPLICATE_STATE_CONFIRMED
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import DIRECTION_OUTGOING
from palimpsest.v1.writer_service_pb2 import DUPLICATE_DECISION_CONFIRM, DUPLICATE_DECISION_UNDO

from cli.conformance.building import entity, fact, observation, ref, typed
from cli.conformance.expecting import expect, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries


@tries("EN-1")
def the_latest_value_wins(probe: Probe) -> None:
    """Three observations of one entity end in the same fields in all six orders of arrival; key and pair are one."""
    said = [
        observation("1", entity("person:anna", title="A", url="https://a", attributes='{"x": 1, "y": 1}'), days=1),
        observation("2", entity("person:anna", title="B", confidence=0.5, attributes='{"x": 2}'), days=2),
        observation("3", entity("person:anna", author="C", attributes='{"y": null}'), days=3),
    ]
    for order in itertools.permutations(said):
        place = probe.place()
        for each in order:
            place.record(each)
        held = place.ask("GetEntity", entity=EntityRef(typed=typed("person:anna"))).entity
        found = held.natural_key, held.title, held.url, held.author, held.confidence, held.attributes.replace(" ", "")
        same(found, ("person:anna", "B", "https://a", "C", 0.5, '{"x":2}'), "the fields")
        same(held.observation_count, 3, "the observations that wrote it")


@tries("EN-1a")
def likeness_only_proposes(probe: Probe) -> None:
    """Rooms 101 and 102, and Тигран and Иран, stay apart; equal titles are proposed, merged on demand, and undone."""
    place = probe.place()
    place.say(entity("room:101", title="Room 101"), entity("room:102", title="Room 102"))
    place.say(entity("name:t", title="Тигран"), entity("name:i", title="Иран"))
    place.say(entity("service:billing", title="Биллинг"), fact("service:billing", "OWNED_BY", "team:red"))
    place.say(entity("service:биллинг", title="биллинг"), fact("service:биллинг", "RUNS_IN", "zone:eu"))
    curated(place)
    proposals = place.ask("ListDuplicateProposals").proposals
    pairs = [(each.first_key, each.second_key) for each in proposals]
    same(pairs, [("service:billing", "service:биллинг")], "the proposals")
    same(place.entity("service:биллинг").merged_into, "", "what an entity was merged into before anybody decided")
    wanted = proposals[0].proposal_id
    decided = place.do("DecideDuplicate", proposal_id=wanted, decision=DUPLICATE_DECISION_CONFIRM).proposal
    same(decided.state, DUPLICATE_STATE_CONFIRMED, "the state of what was confirmed")
    together = {each.predicate for each in place.ask("ListFacts", subject=ref("service:billing")).facts}
    same(together, {"OWNED_BY", "RUNS_IN"}, "the predicates of the merged entity")
    place.do("DecideDuplicate", proposal_id=wanted, decision=DUPLICATE_DECISION_UNDO)
    apart = {each.predicate for each in place.ask("ListFacts", subject=ref("service:billing")).facts}
    same(apart, {"OWNED_BY"}, "the predicates after it was undone")


@tries("EN-2")
def ends_may_come_later(probe: Probe) -> None:
    """The ends of a fact are placeholders, and filled by what comes later, with the fact in place."""
    place = probe.place()
    place.say(fact("person:anna", "WORKS_ON", "project:alpha"))
    expect(place.entity("project:alpha").placeholder, "an end that nobody described is no placeholder")
    same([each.natural_key for each in place.ask("ListEntities").entities], [], "entities without placeholders")
    place.say(entity("project:alpha", title="Alpha"), days=1)
    held = place.entity("project:alpha")
    same((held.placeholder, held.title), (False, "Alpha"), "the end that has arrived")
    edges = place.ask("ListNeighbors", entity=ref("person:anna"), direction=DIRECTION_OUTGOING).neighbors
    same([(each.step.relation, each.entity.title) for each in edges], [("WORKS_ON", "Alpha")], "the neighbours")


def curated(place: Place) -> int:
    """Runs one whole pass of curation; how many duplicates it proposed."""
    proposed = 0
    for _ in range(100):
        done = place.do("RunCuration")
        proposed += int(done.duplicates_proposed)
        if done.done:
            return proposed
    expect(False, "a pass of curation over a few things has no end")
    return proposed
