"""Episodes, memory records, rules, and what each status means."""

from collections.abc import Iterable
from typing import Any

from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.record_pb2 import (
    RULE_SCOPE_AGENT,
    RULE_SCOPE_GLOBAL,
    RULE_SCOPE_TEMPORARY,
    Episode,
    Preference,
    Reflection,
    Rule,
    Skill,
)
from palimpsest.v1.reference_pb2 import IMPORTANCE_HIGH, STATUS_ARCHIVED, STATUS_DRAFT, Provenance
from palimpsest.v1.retrieval_pb2 import ITEM_KIND_RECORD, SearchFilter

from cli.conformance.building import at, entity, fact, from_now, record, ref
from cli.conformance.expecting import expect, missing, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_WORD = "harrierslate"


@tries("EN-3")
def an_episode_is_kept(probe: Probe) -> None:
    """An episode is an entity of its kind that tells its parts, is linked to them, and leads to its observation."""
    place = probe.place()
    episode = Episode(
        entity=ref("episode:tests"), summary=f"The tests of {_WORD} failed", actor=ref("person:anna"),
        action="ran_tests", target=ref("service:gateway"), result="failed", event_at=at(3),
        artifacts=["https://example.org/log"], related=[ref("commit:abc")],
    )  # fmt: skip
    recorded = place.say(Assertion(episode=episode), days=4)
    held = place.entity("episode:tests")
    same((held.kind, list(held.observation_ids)), ("episode", [recorded.observation_id]), "the kind and the evidence")
    for part in ("ran_tests", "failed", "https://example.org/log"):
        expect(part in held.attributes, f"{part!r} is not in what the episode tells")
    around = {each.entity.natural_key for each in place.ask("ListNeighbors", entity=ref("episode:tests")).neighbors}
    expect({"person:anna", "service:gateway", "commit:abc"} <= around, f"the episode leads to {sorted(around)} only")


@tries("EN-4")
def records_are_typed(probe: Probe) -> None:
    """A skill, a reflection, a preference and a rule are found as records of their kinds, with their envelopes."""
    place = probe.place()
    bodies: dict[str, dict[str, Any]] = {
        "skill": {"skill": Skill(applies_when=["a deploy fails"], goal="roll back", steps=["stop", "roll back"])},
        "reflection": {"reflection": Reflection(trigger="an outage", lesson="ask first")},
        "preference": {"preference": Preference(holder=ref("person:anna"), topic="style", value="short")},
        "rule": {"rule": Rule(text="never on Fridays", scope=RULE_SCOPE_GLOBAL)},
    }
    for kind, body in bodies.items():
        envelope = {
            "importance": IMPORTANCE_HIGH, "confidence": 0.75, "expires_at": from_now(30),
            "provenance": Provenance(extracted_by="tool@1", reviewed_by="person:boris"),
        }  # fmt: skip
        place.say(record(f"{kind}:{_WORD}", f"{_WORD} {kind}", **body, **envelope))
        held = place.entity(f"{kind}:{_WORD}")
        found = held.kind, held.importance, held.confidence, held.provenance.extracted_by, held.provenance.reviewed_by
        same(found, (kind, IMPORTANCE_HIGH, 0.75, "tool@1", "person:boris"), "the envelope")
    listed = place.found(_WORD, filter=SearchFilter(item_kinds=[ITEM_KIND_RECORD]), limit=50)
    same(set(listed), {f"{kind}:{_WORD}" for kind in bodies}, "the records that are found")


@tries("EN-5")
def statuses_mean_something(probe: Probe) -> None:
    """Drafts come only on request; what is archived, expired or deleted is not found, without any job having run."""
    place = probe.place()
    place.say(entity("thing:active", title=f"{_WORD} active"))
    place.say(entity("thing:draft", title=f"{_WORD} draft", status=STATUS_DRAFT))
    place.say(entity("thing:archived", title=f"{_WORD} archived", status=STATUS_ARCHIVED))
    place.say(entity("thing:expired", title=f"{_WORD} expired", expires_at=from_now(-1)))
    place.say(entity("thing:deleted", title=f"{_WORD} deleted"))
    place.do("DeleteItem", entity=ref("thing:deleted"))
    same(_found(place), {"thing:active"}, "what is found")
    drafts = _found(place, filter=SearchFilter(include_drafts=True))
    same(drafts, {"thing:active", "thing:draft"}, "what is found with drafts")
    missing(lambda: place.entity("thing:deleted"))


@tries("EN-6")
def marks_are_set_and_taken_back(probe: Probe) -> None:
    """Confirm raises its moment; archive and restore, delete and undelete undo each other; again changes nothing."""
    place = probe.place()
    [said] = place.say(fact("person:anna", "LIKES", "thing:tea")).fact_ids
    confirmed = place.do("ConfirmItem", fact_id=said, confirmed_at=at(20)).last_confirmed_at
    same((confirmed, place.fact(said).last_confirmed_at), (at(20), at(20)), "when it was confirmed")
    for away, back in (("ArchiveItem", "RestoreItem"), ("DeleteItem", "UndeleteItem")):
        same([place.do(away, fact_id=said).changed for _ in range(2)], [True, False], f"whether {away} changed")
        same(place.facts(), [], f"facts after {away}")
        same([place.do(back, fact_id=said).changed for _ in range(2)], [True, False], f"whether {back} changed")
        same(place.facts(), [said], f"facts after {back}")


@tries("EN-7")
def rules_are_for_their_callers(probe: Probe) -> None:
    """A global rule and one of now are found; one that is over, one to come, and another agent's are not."""
    place = probe.place()
    rules: dict[str, tuple[Rule, dict[str, Any]]] = {
        "global": (Rule(text="x", scope=RULE_SCOPE_GLOBAL), {}),
        "now": (Rule(text="x", scope=RULE_SCOPE_TEMPORARY), {"valid_from": from_now(-1), "valid_to": from_now(1)}),
        "over": (Rule(text="x", scope=RULE_SCOPE_TEMPORARY), {"valid_from": from_now(-3), "valid_to": from_now(-2)}),
        "to-come": (Rule(text="x", scope=RULE_SCOPE_TEMPORARY), {"valid_from": from_now(2), "valid_to": from_now(3)}),
        "another's": (Rule(text="x", scope=RULE_SCOPE_AGENT, holder=f"nobody-of-{place.name}"), {}),
    }
    for name, (rule, fields) in rules.items():
        place.say(record(f"rule:{name}", f"{_WORD} {name}", rule=rule, **fields))
    same(_found(place), {"rule:global", "rule:now"}, "the rules that are given")
    packed = {item.item_id for item in place.pack(_WORD, mode="SEARCH_MODE_LEXICAL").pack.items}
    same(packed, {"rule:global", "rule:now"}, "the rules in a pack")


def _found(place: Place, **fields: Any) -> set[str]:
    found: Iterable[str] = place.found(_WORD, limit=50, mode="SEARCH_MODE_LEXICAL", **fields)
    return set(found)
