"""Walks, lists, tokens of consistency, and the stream of changes."""

import base64
import binascii
from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
from palimpsest.v1.reader_service_pb2 import WatchRequest
from palimpsest.v1.retrieval_pb2 import DIRECTION_INCOMING, DIRECTION_OUTGOING

from cli.conformance.building import at, document, entity, fact, link, observation, ref
from cli.conformance.expecting import expect, invalid, refused, same
from cli.conformance.outcome import Broken
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_MOST_MESSAGES = 1_000


@tries("RE-10")
def walks_follow_what_was_asked(probe: Probe) -> None:
    """A walk keeps to relations, kinds, direction and moment, and its paths join what they name."""
    place = probe.place()
    place.say(
        entity("person:anna", title="Anna"), entity("project:alpha", title="Alpha"), entity("team:red", title="Red"),
        fact("person:anna", "WORKS_ON", "project:alpha", valid_from=at(1), valid_to=at(9)),
        link("person:anna", "PART_OF", "team:red"), fact("person:boris", "KNOWS", "person:anna"),
    )  # fmt: skip
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"at": {"as_of": at(5)}}, {"project:alpha", "team:red", "person:boris"}),
        ({}, {"team:red", "person:boris"}),
        ({"direction": DIRECTION_OUTGOING}, {"team:red"}),
        ({"direction": DIRECTION_INCOMING}, {"person:boris"}),
        ({"relations": ["WORKS_ON"], "at": {"as_of": at(5)}}, {"project:alpha"}),
        ({"kinds": ["team"]}, {"team:red"}),
    ]
    for fields, wanted in cases:
        paths = place.ask("Traverse", anchors=[ref("person:anna")], depth=1, **fields).paths
        same({path.entity_keys[-1] for path in paths}, wanted, f"the ends of a walk with {sorted(fields)}")
        expect(all(len(path.entity_keys) == len(path.steps) + 1 for path in paths), "a path lacks a node")
    same(len(place.ask("Traverse", anchors=[ref("person:nobody")]).paths), 0, "paths from nobody")


@tries("RE-11")
def pages_lose_nothing(probe: Probe) -> None:
    """Pages of two of entities, facts, observations, chunks and history are the whole list, once each."""
    place = probe.place()
    said = [fact("person:anna", "LIKES", f"thing:{number}") for number in range(7)]
    for number, each in enumerate(said):
        place.say(entity(f"note:{number}", title=f"Note {number}"), each, days=number)
        place.say(said[0], days=20 + number)
    text = "".join(f"# Part {number}\n\nText {number}.\n\n" for number in range(7))
    place.say(document("doc:a", text))
    lists: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
        "ListEntities": (lambda answer: [each.natural_key for each in answer.entities], {"include_placeholders": True}),
        "ListFacts": (lambda answer: [each.fact_id for each in answer.facts], {}),
        "ListObservations": (lambda answer: [each.observation_id for each in answer.observations], {}),
        "ListChunks": (lambda answer: [each.ordinal for each in answer.chunks], {"entity": ref("doc:a")}),
        "ListNeighbors": (lambda answer: [each.entity.natural_key for each in answer.neighbors],
                          {"entity": ref("person:anna")}),
        "GetFactHistory": (lambda answer: [each.observation_id for each in answer.events],
                           {"fact_id": place.fact(place.facts()[0]).fact_id}),
    }  # fmt: skip
    for rpc, (names, fields) in lists.items():
        whole = names(place.ask(rpc, page_size=1000, **fields))
        paged, token = [], ""
        for _ in range(len(whole) + 2):
            answer = place.ask(rpc, page_size=2, page_token=token, **fields)
            expect(len(names(answer)) <= 2, f"a page of {rpc} has more than was asked for")
            paged += names(answer)
            token = answer.next_page_token
            if not token:
                break
        same(paged, whole, f"the pages of {rpc}")


@tries("RE-11")
def page_tokens_are_bound(probe: Probe) -> None:
    """A damaged page token, and one of another question, are refused."""
    place = probe.place()
    place.say(*(entity(f"note:{number}", title="Note") for number in range(5)))
    token = place.ask("ListEntities", page_size=2).next_page_token
    expect(token, "a list of five has one page of two")
    damaged = ("A" if token[0] != "A" else "B") + token[1:]
    cases: list[tuple[str, dict[str, Any]]] = [
        (damaged, {}), ("nonsense", {}), (token, {"key_prefix": "n"}), (token, {"kinds": ["note"]}),
    ]  # fmt: skip
    for given, fields in cases:
        refused(
            partial(place.ask, "ListEntities", page_size=2, page_token=given, **fields),
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_PAGE_TOKEN",
        )


@tries("RE-12")
def a_read_sees_its_write(probe: Probe) -> None:
    """Each of twenty writes answers with a token, and a read that carries it sees the write at once."""
    place = probe.place()
    probe.client.forget_writes()
    for number in range(20):
        answer = place.do(
            "RecordObservation", observation=observation(f"w{number}", entity(f"note:{number}", title="x"))
        )
        expect(answer.consistency_token, "a write answered without a token")
        read = place.ask("GetEntity", entity=ref(f"note:{number}"), consistency_token=answer.consistency_token)
        same(read.entity.title, "x", "the title that was just written")


@tries("RE-12")
def foreign_tokens_are_refused(probe: Probe) -> None:
    """A damaged token is INVALID_ARGUMENT by its path, one of another cluster FAILED_PRECONDITION."""
    place = probe.place()
    token = place.do("RecordObservation", observation=observation("1", entity("note:1"))).consistency_token

    def read(given: str) -> Any:
        return place.ask("GetEntity", entity=ref("note:1"), consistency_token=given)

    same(read(token).entity.natural_key, "note:1", "what the whole token reads")
    for damaged in ("nonsense", token[:-4], token[:10] + ("A" if token[10] != "A" else "B") + token[11:]):
        invalid(partial(read, damaged), "consistency_token")
    details = refused(
        lambda: read(of_another_cluster(token)), grpc.StatusCode.FAILED_PRECONDITION, "CONSISTENCY_TOKEN_FOREIGN"
    )
    expect(details.metadata.get("cause"), "the refusal does not say why")


@tries("RE-13")
def changes_are_told_and_resumed(probe: Probe) -> None:
    """Ten writes are told in their order; from the cursor of any of them the rest is told, and nothing is lost."""
    place = probe.place()
    before = place.moment()
    said = [observation(f"w{number}", entity(f"note:{number}", title=f"Note {number}")) for number in range(10)]
    ids = [place.record(each).observation_id for each in said]
    told = _watched(place, ids[-1], since=before)
    order = [change.item_id for change in told if change.item_id in ids]
    same([each for place_of, each in enumerate(order) if each not in order[:place_of]], ids, "the order of changes")
    seen = {change.item_id for change in told}
    expect({f"note:{number}" for number in range(9)} <= seen, "a change is lost")
    for number in (2, 6):
        place_of = next(i for i, change in enumerate(told) if change.item_id == ids[number])
        rest = _watched(place, ids[-1], cursor=told[place_of].cursor)
        after = {change.item_id for change in rest}
        expect(set(ids[number + 1 :]) <= after, "what comes after a cursor is lost on resuming")
        expect(not set(ids[:number]) & after, "what was handled is told again")


@tries("RE-13")
def a_removal_is_told(probe: Probe) -> None:
    """What is redacted or deleted is told as changed or removed, in place of what was known."""
    place = probe.place()
    before = place.moment()
    recorded = place.say(entity("note:gone", title="Gone"), content="content that goes")
    last = place.say(entity("note:last", title="Last")).observation_id
    place.do("RedactObservation", observation_id=recorded.observation_id)
    end = place.say(entity("note:end", title="End")).observation_id
    state: dict[str, Any] = {}
    for change in _watched(place, end, since=before):
        state[change.item_id] = change
    expect(last in state, "a change is lost")
    same(state[recorded.observation_id].observation.observation.content, "", "the content of what was redacted")
    gone = state.get("note:gone")
    expect(gone is None or gone.WhichOneof("item") is None, "what lost its evidence is told as it was")


def _watched(place: Place, until: str, **fields: Any) -> list[Any]:
    """The changes up to the one of an id, that one included, and those of the same messages."""
    request = WatchRequest(namespace=place.name, **fields)
    stream = place.probe.client.reader.Watch(request, timeout=place.probe.patience_s)
    told: list[Any] = []
    try:
        for _, message in zip(range(_MOST_MESSAGES), stream, strict=False):
            told += message.changes
            if any(change.item_id == until for change in message.changes):
                return told
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
    finally:
        stream.cancel()
    raise Broken(f"a change was not told within {place.probe.patience_s:g} s")


def of_another_cluster(token: str) -> str:
    """The token with another system identifier, and the checksum of that."""
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    body = raw[:1] + bytes((raw[1] ^ 1,)) + raw[2:-4]
    return base64.urlsafe_b64encode(body + binascii.crc32(body).to_bytes(4, "big")).decode().rstrip("=")
