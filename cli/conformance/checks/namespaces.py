"""Borders of namespaces, and their settings."""

from collections.abc import Callable
from functools import partial

import grpc
from google.protobuf.message import Message
from palimpsest.v1.namespace_pb2 import ContextDefaults, NamespaceSettings
from palimpsest.v1.retrieval_pb2 import Budget

from cli.conformance.building import document, entity, fact, id_of, link, ref
from cli.conformance.expecting import expect, invalid, missing, refused, same
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

CANARY = "kestrelquartz"


@tries("NS-1")
def nothing_crosses(probe: Probe) -> None:
    """What one namespace holds is in no answer, count or error of another, by search, list, walk or id."""
    here, there = probe.place(), probe.place()
    said = fact("person:anna", "KEEPS", f"thing:{CANARY}")
    recorded = there.say(
        entity("person:anna", title=f"Anna {CANARY}"), said, link("person:anna", "LINKS_TO", f"doc:{CANARY}"),
        document(f"doc:{CANARY}", f"The {CANARY} is kept by Anna."), content=f"{CANARY} was seen",
    )  # fmt: skip
    here.say(entity("person:boris", title="Boris"))
    expect(there.found(CANARY), "a search finds nothing of what its own namespace was told")
    answers: list[Message] = [
        here.search(CANARY),
        here.search(CANARY, keep_irrelevant=True),
        here.pack(CANARY),
        here.ask("ListEntities", include_placeholders=True, include_history=True),
        here.ask("ListFacts", include_history=True),
        here.ask("ListObservations"),
        here.ask("Traverse", anchors=[ref("person:anna"), ref("person:boris")], depth=3),
        here.ask("ListLinkClaims"),
        here.ask("ListDuplicateProposals"),
    ]
    for answer in answers:
        expect(not told_by(answer), f"{type(answer).__name__} tells of another namespace")
    same(here.ask("GetNamespaceStatistics").statistics.facts, 0, "facts of a namespace that was told none")
    for ask in (
        lambda key: here.ask("GetEntity", entity=ref(key)),
        lambda key: here.ask("GetSource", entity=ref(key)),
        lambda key: here.ask("ListNeighbors", entity=ref(key)),
    ):
        missing(partial(ask, "person:anna"))
        same(_error(partial(ask, "person:anna")), _error(partial(ask, "person:nobody")), "the error")
    missing(lambda: here.ask("GetFact", fact_id=id_of(there.name, said)))
    missing(lambda: here.ask("GetObservation", observation_id=recorded.observation_id))


@tries("NS-2")
def settings_are_versioned(probe: Probe) -> None:
    """A change raises the version and is audited; one based on another version, or a made-up constant, is refused."""
    place = probe.place()
    before = place.ask("GetNamespace").namespace
    same(before.settings_version, 0, "the version of settings that were never changed")
    small = ContextDefaults(budget=Budget(characters=400))
    changed = place.configure(context=small)
    same(changed.settings_version, 1, "the version after a change")
    same(place.ask("GetNamespace").namespace.settings.context.budget, small.budget, "the budget that is read")
    refused(
        lambda: place.do("UpdateNamespaceSettings", settings=NamespaceSettings(strict=True), expected_version=0),
        grpc.StatusCode.FAILED_PRECONDITION,
        "INVALID_STATE",
    )
    invalid(lambda: place.configure(tuning={"made.up": 1.0}))
    same(place.ask("GetNamespace").namespace.settings_version, 1, "the version after refusals")
    actions = [event.action for event in place.ask("ListAuditEvents").events]
    expect("settings_change" in actions, "a change of settings is not in the audit")


def told_by(answer: Message) -> bool:
    """Whether the canary is anywhere in an answer."""
    return CANARY.encode() in answer.SerializeToString()


def _error(call: Callable[[], object]) -> tuple[str, str]:
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name, error.details() or ""
    return "OK", ""
