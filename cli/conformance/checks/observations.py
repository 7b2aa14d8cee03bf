"""Observations: identity, delivery, status, convergence."""

import random
from functools import partial
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.ids import content_hash, observation_id
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_SUPERSESSION_CYCLE
from palimpsest.v1.observation_pb2 import (
    OBSERVATION_STATUS_FAILED,
    OBSERVATION_STATUS_PARTIALLY_PROCESSED,
    OBSERVATION_STATUS_PROCESSED,
    Observation,
)
from palimpsest.v1.reference_pb2 import Provenance
from palimpsest.v1.writer_service_pb2 import StreamObservationsRequest

from cli.conformance.building import SYSTEM, at, document, entity, fact, id_of, link, observation, ref, typed
from cli.conformance.expecting import at_once, expect, invalid, refused, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_BATCH = 1_000


@tries("OB-1")
def kept_whole(probe: Probe) -> None:
    """An observation with every field comes back as it was sent, and is PROCESSED."""
    place = probe.place()
    said = observation(
        "whole", entity("thing:one", title="One"), actor=typed("person:anna"), subject=typed("thing:one"),
        scopes=["project:alpha"], content="что было сказано", data='{"a": [1, 2.50]}', trace_id="trace-1",
        provenance=Provenance(uri="https://example.org/1", commit_sha="abc", extra={"k": "v"}), stream="room",
    )  # fmt: skip
    recorded = place.record(said)
    same(recorded.status, OBSERVATION_STATUS_PROCESSED, "the status")
    stored = place.ask("GetObservation", observation_id=recorded.observation_id).observation
    same(stored.observation, said, "the observation")
    same(stored.content_hash, content_hash(said), "the content's hash")


@tries("OB-2")
def ids_are_computed(probe: Probe) -> None:
    """The ids are those that a client computes; parts cannot be shifted; composed letters are one with decomposed."""
    place = probe.place()
    named = observation("ид-Ё", stream="поток", content="x")
    same(place.record(named).observation_id, observation_id(place.name, named.source), "the id by source")
    unnamed = observation("", content="without an id of its own")
    wanted = observation_id(place.name, unnamed.source, content_hash=content_hash(unnamed))
    same(place.record(unnamed).observation_id, wanted, "the id by content")
    one, other = observation("bc", stream="a"), observation("c", stream="ab")
    expect(place.record(one).observation_id != place.record(other).observation_id, "shifted parts have one id")
    decomposed = observation("ид-Е\u0308", stream="поток", content="x")
    again = place.record(decomposed)
    same((again.observation_id, again.duplicate), (observation_id(place.name, named.source), True), "the decomposed id")


@tries("OB-3")
def again_changes_nothing(probe: Probe) -> None:
    """Sent twenty times at once and once more, it is stored once; other content under its identity is refused."""
    place = probe.place()
    said = observation("again", fact("person:anna", "LIKES", "thing:tea"), content="Anna likes tea")
    results = at_once([lambda: place.record(said)] * 20)
    same(sum(not each.duplicate for each in results), 1, "deliveries that were not duplicates")
    same(len({each.observation_id for each in results}), 1, "ids of one observation")
    expect(place.record(said).duplicate, "the twenty-first delivery is no duplicate")
    held = place.ask("GetNamespaceStatistics").statistics
    same((held.observations, held.facts), (1, 1), "observations and facts")
    before = place.ask("Digest").digest
    other = observation("again", content="Anna likes coffee")
    details = refused(lambda: place.record(other), grpc.StatusCode.ALREADY_EXISTS, "OBSERVATION_CONFLICT")
    hashes = details.metadata.get("stored_hash"), details.metadata.get("sent_hash")
    same(hashes, (content_hash(said), content_hash(other)), "the hashes of the refusal")
    same(place.ask("Digest").digest, before, "the digest after a refusal")


@tries("OB-4")
def a_failed_assertion_is_named(probe: Probe) -> None:
    """A supersession that would close a cycle is told with its index and reason, and its neighbours apply."""
    place = probe.place()
    old, new = fact("a:a", "WAS", "b:b"), fact("a:a", "IS", "b:c", valid_from=at(1))
    new.fact.supersedes.append(id_of(place.name, old))
    first = observation("1", old, new, days=1)
    again = fact("a:a", "WAS", "b:b", supersedes=[id_of(place.name, new)])
    second = observation("2", entity("thing:neighbour", title="Neighbour"), again, days=2)
    told = [place.record(each) for each in (first, second)]
    stored = [place.ask("GetObservation", observation_id=each.observation_id).observation for each in told]
    failed = [(place_of, each) for place_of, one in enumerate(stored) for each in one.failed_assertions]
    expect(failed, "a cycle of supersessions was taken")
    same({each.error.reason for _, each in failed}, {ERROR_REASON_SUPERSESSION_CYCLE}, "the reason")
    same({each.index for _, each in failed}, {1}, "the index")
    partly = {OBSERVATION_STATUS_PARTIALLY_PROCESSED, OBSERVATION_STATUS_FAILED}
    expect({stored[number].status for number, _ in failed} <= partly, "the status is not PARTIALLY_PROCESSED")
    same(place.entity("thing:neighbour").title, "Neighbour", "the title of the neighbour")


@tries("OB-5")
def three_times_are_kept_apart(probe: Probe) -> None:
    """Years 0001 and 9999, a leap day and microseconds come back; finer digits are cut; year 10000 is refused."""
    place = probe.place()
    edges = [
        Timestamp(seconds=-62135596800), Timestamp(seconds=253402300799, nanos=999_999_000),
        Timestamp(seconds=1709164800, nanos=1_000), Timestamp(seconds=-1, nanos=999_999_000),
    ]  # fmt: skip
    for number, edge in enumerate(edges):
        said = observation(f"edge-{number}", occurred_at=edge)
        said.assertions.append(fact("a:a", f"SINCE_{number}", "b:b", valid_from=edge))
        recorded = place.record(said)
        stored = place.ask("GetObservation", observation_id=recorded.observation_id).observation
        same(stored.observation.occurred_at, edge, "when it happened")
        same(place.fact(recorded.fact_ids[0]).valid_from, edge, "since when it is true")
        expect(stored.recorded_at.seconds > at().seconds, "when it was learnt is not a moment of now")
    place.record(observation("finer", entity("thing:finer"), occurred_at=Timestamp(seconds=1_600_000_000, nanos=1_999)))
    same(place.entity("thing:finer").last_seen_at.nanos, 1_000, "nanoseconds after the cut")
    late = observation("late", occurred_at=Timestamp(seconds=253402300800))
    invalid(lambda: place.record(late), "observation.occurred_at")


@tries("OB-6")
def a_batch_of_a_thousand(probe: Probe) -> None:
    """Of a thousand items one is bad: it alone is refused, with its path, and each result has its place."""
    place = probe.place()
    many = [observation(f"item-{number}", content=f"item {number}") for number in range(_BATCH)]
    many[500].kind = "NOT A KIND"
    results = place.do("BatchRecordObservations", observations=many, timeout_s=120).results
    same(len(results), _BATCH, "results")
    bad = [number for number, each in enumerate(results) if each.HasField("error")]
    same(bad, [500], "places of refused items")
    paths = [violation.field for violation in results[500].error.violations]
    same(paths, ["observations[500].kind"], "the path of the wrong field")
    ids = [each.recorded.observation_id for number, each in enumerate(results) if number != 500]
    wanted = [observation_id(place.name, each.source) for number, each in enumerate(many) if number != 500]
    same(ids == wanted, True, "results in the order of the items")
    same(place.ask("GetNamespaceStatistics").statistics.observations, _BATCH - 1, "observations")


@tries("OB-6")
def a_stream(probe: Probe) -> None:
    """Each item of a stream is answered once, by its number; a bad one ends nothing."""
    place = probe.place()
    many = [observation(f"item-{number}", content=f"item {number}") for number in range(60)]
    many[30].kind = "NOT A KIND"
    requests = (
        StreamObservationsRequest(namespace=place.name, sequence=number, observation=each)
        for number, each in enumerate(many)
    )
    answers = list(probe.client.writer.StreamObservations(requests, timeout=120))
    same(sorted(each.sequence for each in answers), list(range(60)), "numbers that were answered")
    same([each.sequence for each in answers if each.result.HasField("error")], [30], "numbers that were refused")


@tries("OB-7")
def again_in_another_order(probe: Probe) -> None:
    """The same tale again, permuted, doubled and from four writers at once, leaves the digest as it was."""
    place = probe.place()
    told = tale(place)
    for each in told:
        place.record(each)
    before = place.ask("Digest").digest
    chance = random.Random(7)
    for _ in range(2):
        at_once([partial(_deliver, place, chance.sample(told * 2, 2 * len(told))) for _ in range(4)])
        same(place.ask("Digest").digest, before, "the digest")


@tries("OB-7")
def arriving_in_another_order(probe: Probe) -> None:
    """Two namespaces that were told one tale in different orders, at once and doubled, hold the same state."""
    one, other = probe.place(), probe.place()
    for each in tale(one):
        one.record(each)
    told = tale(other)
    random.Random(11).shuffle(told)
    at_once([partial(_deliver, other, part) for part in (told[::2] + told[::3], told[1::2])])
    same(_state(other), _state(one), "the state")
    same(dict(other.ask("Digest").rows), dict(one.ask("Digest").rows), "rows by table")


def tale(place: Place) -> list[Observation]:
    """Observations that touch each other: titles, texts, a supersession, evidence of one fact by several."""
    works = fact("person:anna", "WORKS_ON", "project:alpha", valid_from=at(1))
    moved = fact("person:anna", "WORKS_ON", "project:beta", valid_from=at(9), supersedes=[id_of(place.name, works)])
    likes = fact("person:anna", "LIKES", "thing:tea")
    return [
        observation("1", entity("person:anna", title="Anna"), works, days=1),
        observation("2", moved, days=2),
        observation("3", entity("person:anna", title="Anna P.", url="https://example.org/anna"), likes, days=3),
        observation("4", likes, link("person:anna", "RELATED_TO", "person:boris"), days=4),
        observation("5", document("doc:plan", "The old plan.", title="Plan"), days=5),
        observation("6", document("doc:plan", "The new plan, in two words more."), days=6),
        observation("7", entity("person:boris", title="Boris", attributes='{"a": 1, "b": 2}'), days=7),
        observation("8", entity("person:boris", attributes='{"b": null, "c": 3}'), days=8),
    ]


def _deliver(place: Place, told: list[Observation]) -> None:
    for each in told:
        place.record(each)


def _state(place: Place) -> dict[str, Any]:
    """What a namespace holds, with ids that do not depend on its name."""
    events = {each.observation_id: each.observation.source.external_id for each in _observations(place)}
    facts = place.ask("ListFacts", include_history=True).facts
    sentences = {each.fact_id: f"{each.subject_key} {each.predicate} {each.object}" for each in facts}
    state: dict[str, Any] = {}
    for each in facts:
        state[sentences[each.fact_id]] = (
            each.valid_from, each.valid_to, each.closure, each.status,
            sorted(events[one] for one in each.observation_ids),
            sorted(sentences[one] for one in each.supersedes), sorted(sentences[one] for one in each.superseded_by),
        )  # fmt: skip
    for each in place.ask("ListEntities", include_placeholders=True, include_history=True).entities:
        if each.natural_key.startswith("obs-"):
            continue
        state[each.natural_key] = (
            each.kind, each.title, each.url, each.attributes, each.placeholder, each.last_seen_at,
            sorted(events[one] for one in each.observation_ids),
        )  # fmt: skip
    state["text"] = place.ask("GetSource", entity=ref("doc:plan")).text
    return state


def _observations(place: Place) -> list[Any]:
    return list(place.ask("ListObservations", system=SYSTEM, page_size=1000).observations)
