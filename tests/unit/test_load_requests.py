"""OP-5: what the load sends is valid, various, and the same for the same seed."""

import re
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from palimpsest.v1.writer_service_pb2 import RecordObservationRequest

from load.content import Content
from load.ghz import settings_of
from load.observations import observation
from load.protoset import write_protoset
from load.requests import NUMBER, REQUESTS, Scene
from shared.validation import require_valid

SCENE = Scene(["load-large", "load:малое"], ["load-w"], {"load-large": "token"}, {"load-large": "pack-1"})


def requests(name: str, seed: int = 1, mark: str = "mark") -> list[Any]:
    """Requests of a profile."""
    return REQUESTS[name](Content(seed, name), SCENE, mark)


def message_type(name: str) -> Any:
    """The class of the requests of a profile's method."""
    import palimpsest.v1.embedder_service_pb2
    import palimpsest.v1.reader_service_pb2  # noqa: F401  # they register themselves

    service, _, method = settings_of(name)["call"].partition("/")
    found = descriptor_pool.Default().FindServiceByName(service)
    return GetMessageClass(found.FindMethodByName(method).input_type)


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_requests_are_valid(name: str) -> None:
    """OP-5: the contract takes every request, with a number in the place of ghz's mark."""
    kind = message_type(name)
    for each in requests(name):
        require_valid(ParseDict(each, kind()))


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_the_same_seed_gives_the_same_requests(name: str) -> None:
    """OP-5: a run can be repeated."""
    assert requests(name) == requests(name)


@pytest.mark.parametrize("name", ["search", "compile_context", "record_observation", "embed_queries", "embed_passages"])
def test_another_seed_gives_other_requests(name: str) -> None:
    """OP-5: and varied."""
    assert requests(name) != requests(name, seed=2)


@pytest.mark.parametrize("name", ["record_observation", "batch_record_observations"])
def test_each_observation_has_an_identity_of_its_own(name: str) -> None:
    """OB-2, OP-5: whatever number ghz puts in, no two observations of a list share an id, nor do two runs."""
    ids = [identity for each in requests(name) for identity in identities(each)]
    assert len(ids) == len(set(ids))
    assert all(NUMBER in identity and identity.startswith("mark-") for identity in ids)
    assert not set(ids) & {one for each in requests(name, mark="other") for one in identities(each)}


def identities(request: Any) -> list[str]:
    """The external ids in a request that writes."""
    found = request["observations"] if "observations" in request else [request["observation"]]
    return [each["source"]["externalId"] for each in found]


def test_searches_are_various() -> None:
    """OP-5: both languages, identifiers, long texts, all namespaces; fields that are there and that are not."""
    made = requests("search")
    queries = [each["query"] for each in made]
    assert any(re.search("[а-я]", query) for query in queries)
    assert any(query.isascii() for query in queries)
    assert any(re.fullmatch(r"\S+-\d+", query) for query in queries)
    assert max(map(len, queries)) > 500
    assert {each["namespace"] for each in made} == set(SCENE.read)
    for name in ("mode", "filter", "at", "callerTime", "consistencyToken", "limit"):
        assert 0 < sum(name in each for each in made) < len(made)


def test_observations_are_various() -> None:
    """OP-5: all shapes, with and without what is optional."""
    content = Content(1, "shapes")
    made = [observation(content, str(place)) for place in range(300)]
    assert {each["kind"] for each in made} == {"message", "task.completed", "incident.closed", "decision", "document"}
    for name in ("actor", "subject", "content", "data", "assertions", "provenance", "traceId", "scopes"):
        assert 0 < sum(name in each for each in made) < len(made)


def test_nothing_is_a_template_by_accident() -> None:
    """OP-5: ghz reads two braces as an action; no text but the number's mark has them."""
    text = str([requests(name) for name in REQUESTS]).replace(NUMBER, "")
    assert "{{" not in text.replace("{'", "").replace("[{", "")


def test_the_protoset_has_all_that_is_imported(tmp_path: Any) -> None:
    """OP-5: ghz finds every method in it, imports before those that import them."""
    written = descriptor_pb2.FileDescriptorSet.FromString(write_protoset(tmp_path / "set").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in written.file:
        pool.Add(file)
    for name in REQUESTS:
        service, _, method = settings_of(name)["call"].partition("/")
        assert pool.FindServiceByName(service).FindMethodByName(method)
    assert pool.FindMessageTypeByName(RecordObservationRequest.DESCRIPTOR.full_name)
