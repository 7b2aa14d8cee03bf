"""Who sees what."""

import secrets

import grpc
from google.protobuf.message import Message
from palimpsest.client import Client
from palimpsest.connection import stays_on_this_machine
from palimpsest.v1.reader_service_pb2 import GetNamespaceRequest
from palimpsest.v1.reference_pb2 import VISIBILITY_TEAM, Permissions
from palimpsest.v1.retrieval_pb2 import SearchFilter

from cli.conformance.building import document, entity, fact, id_of, link, ref
from cli.conformance.expecting import denied, expect, invalid, missing, same
from cli.conformance.outcome import Broken, Unseen
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries


@tries("AC-1")
def a_made_up_token_opens_nothing(probe: Probe) -> None:
    """A call with a made-up token is UNAUTHENTICATED; without authentication only loopback is served."""
    place = probe.place()
    made_up = (("authorization", f"Bearer {secrets.token_hex(16)}"),)
    try:
        probe.client.reader.GetNamespace(GetNamespaceRequest(namespace=place.name), metadata=made_up)
    except grpc.RpcError as error:
        same(error.code().name, "UNAUTHENTICATED", "the answer to a made-up token")
        return
    expect(not probe.authorization, "a made-up token was accepted")
    if not stays_on_this_machine(probe.endpoints.reader):
        raise Broken("anybody is served, and not on loopback only")
    raise Unseen("authentication is off, as loopback allows")


@tries("AC-2")
def labels_hide(probe: Probe) -> None:
    """What carries a principal label is in no answer to a caller without it; what carries none is."""
    place, word = probe.place(), "merlinbasalt"
    outsider = probe.other
    place.say(entity("thing:open", title=f"Open {word}"))
    hidden = place.say(
        entity("thing:hidden", title=f"Hidden {word}"), scopes=[f"principal:{place.name}"], content=f"about {word}"
    )
    same(place.ask("GetEntity", caller=outsider, entity=ref("thing:open")).entity.natural_key, "thing:open", "the key")
    same(place.found(word, caller=outsider), ["thing:open"], "what the other caller finds")
    missing(lambda: place.ask("GetEntity", caller=outsider, entity=ref("thing:hidden")))
    missing(lambda: place.ask("GetObservation", caller=outsider, observation_id=hidden.observation_id))
    listed = place.ask("ListEntities", caller=outsider).entities
    same([each.natural_key for each in listed], ["thing:open"], "what the other caller lists")


@tries("AC-3")
def labels_say_where_a_thing_applies(probe: Probe) -> None:
    """A search within one project has its items and those of no project, not those of another."""
    place, word = probe.place(), "ospreygranite"
    for name in ("alpha", "beta"):
        place.say(document(f"doc:{name}", f"The {word} of {name}."), scopes=[f"project:{name}"])
    place.say(document("doc:none", f"The {word} of all."))
    found = place.found(word, filter=SearchFilter(scopes=["project:alpha"]), limit=50)
    owners = {each.removeprefix("chunk:").partition("#")[0] for each in found}
    same(sorted(owners), ["doc:alpha", "doc:none"], "what is found within the project")


@tries("AC-4")
def the_filter_comes_before_the_ranking(probe: Probe) -> None:
    """Thirty better matches of another project take no place from the one that applies."""
    place, word = probe.place(), "falconmarble"
    for number in range(30):
        text = " ".join([word] * 8) + f" note {number}"
        place.say(document(f"doc:other-{number}", text), scopes=["project:other"])
    place.say(document("doc:mine", f"A long text in which {word} is told of once, among many other words."),
              scopes=["project:mine"])  # fmt: skip
    found = place.found(word, filter=SearchFilter(scopes=["project:mine"]), limit=1, keep_irrelevant=True)
    same(found, ["chunk:doc:mine#0"], "what is found first within the project")


@tries("AC-5")
def permissions_become_labels(probe: Probe) -> None:
    """A team's record carries the team's label, or is hidden from who is not of it; a nameless team is refused."""
    place = probe.place()
    team = Permissions(visibility=VISIBILITY_TEAM, visibility_id="crew")
    place.say(entity("thing:team", title="Team"), permissions=team)
    try:
        same(list(place.entity("thing:team").scopes), ["workspace:crew"], "the labels of a team's record")
    except grpc.RpcError as error:
        same(error.code().name, "NOT_FOUND", "what who is not of the team gets")
    nameless = Permissions(visibility=VISIBILITY_TEAM)
    invalid(lambda: place.say(entity("thing:x"), permissions=nameless), "observation.permissions.visibility_id")


@tries("AC-5")
def write_roles_bind(probe: Probe) -> None:
    """A caller without any of the write roles cannot mark the record."""
    place, outsider = probe.place(), probe.other
    place.say(entity("thing:guarded", title="Guarded"), permissions=Permissions(write_roles=["keepers"]))
    try:
        place.do("ArchiveItem", caller=outsider, entity=ref("thing:guarded"))
    except grpc.RpcError as error:
        expect(denied(error), f"the refusal is {error.code().name}")
        return
    raise Broken("archived by a caller without the role")


@tries("AC-6")
def hidden_nodes_change_no_answer(probe: Probe) -> None:
    """Facts, links and neighbours of hidden nodes change not one byte of what another caller is answered."""
    place, outsider = probe.place(), probe.other
    open_fact = fact("person:anna", "KNOWS", "person:boris")
    place.say(entity("person:anna", title="Anna"), entity("person:boris", title="Boris"), open_fact)
    place.embedded()
    before = _asked(place, outsider)
    place.say(
        entity("person:vera", title="Vera Anna"), fact("person:anna", "KNOWS", "person:vera"),
        fact("person:vera", "KNOWS", "person:boris"), link("person:anna", "LINKS_TO", "person:vera"),
        scopes=[f"principal:{place.name}"], content="Anna knows Vera",
    )  # fmt: skip
    place.embedded()
    after = _asked(place, outsider)
    for rpc, answer in before.items():
        expect(answer == after[rpc], f"{rpc} of the other caller changed with what is hidden from it")
    expect(id_of(place.name, open_fact) in place.facts(caller=outsider), "the open fact is not listed")


def _asked(place: Place, caller: Client) -> dict[str, bytes]:
    answers: dict[str, Message] = {
        "GetEntity": place.ask("GetEntity", caller=caller, entity=ref("person:anna")),
        "ListEntities": place.ask("ListEntities", caller=caller, include_placeholders=True),
        "ListFacts": place.ask("ListFacts", caller=caller, include_history=True),
        "ListNeighbors": place.ask("ListNeighbors", caller=caller, entity=ref("person:anna")),
        "Traverse": place.ask("Traverse", caller=caller, anchors=[ref("person:anna")], depth=3),
        "Search": place.search_whole("who does Anna know", caller=caller, keep_irrelevant=True),
        "GetNamespaceStatistics": place.ask("GetNamespaceStatistics", caller=caller),
        "ListObservations": place.ask("ListObservations", caller=caller),
    }
    return {rpc: answer.SerializeToString(deterministic=True) for rpc, answer in answers.items()}
