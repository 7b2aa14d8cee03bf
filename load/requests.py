"""The requests of each profile, in protobuf's JSON form: a list, which ghz goes through again and again.

ghz puts the number of the call in the place of `{{.RequestNumber}}`, so that each recorded observation has an identity
of its own. The number begins at 0 in each run of ghz; `mark` tells runs apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from load.content import TOPICS, Content
from load.observations import Json, key, moment, observation

DIFFERENT = 300
"""Requests in a list; of batches a tenth of it."""
BATCH = 20
"""Observations of one batch."""
NUMBER = "{{.RequestNumber}}"
_MODES = ("SEARCH_MODE_FULL",) * 4 + ("SEARCH_MODE_LEXICAL", "SEARCH_MODE_VECTOR", "SEARCH_MODE_GRAPH")
_MOST_TEXTS = 8


@dataclass(frozen=True, slots=True)
class Scene:
    """What requests may speak of: what is stored when they are made."""

    read: Sequence[str]
    """Namespaces that are searched, the largest first."""
    write: Sequence[str]
    """Namespaces that are written to."""
    tokens: dict[str, str]
    """The consistency token of the last write, by namespace."""
    packs: dict[str, str]
    """Id of an earlier pack, by namespace."""


def record_observation(content: Content, scene: Scene, mark: str) -> list[Json]:
    """Of `RecordObservation`."""
    return [
        {
            "namespace": content.random.choice(scene.write),
            "observation": observation(content, f"{mark}-{place}-{NUMBER}"),
        }
        for place in range(DIFFERENT)
    ]


def batch_record_observations(content: Content, scene: Scene, mark: str) -> list[Json]:
    """Of `BatchRecordObservations`."""
    return [
        {
            "namespace": content.random.choice(scene.write),
            "observations": [observation(content, f"{mark}-{place}-{item}-{NUMBER}") for item in range(BATCH)],
        }
        for place in range(DIFFERENT // 10)
    ]


def search(content: Content, scene: Scene, mark: str) -> list[Json]:
    """Of `Search`: all modes, filters, moments and limits, half of them with nothing but a question."""
    return [_asked(content, scene, mark, _search_fields) for _ in range(DIFFERENT)]


def compile_context(content: Content, scene: Scene, mark: str) -> list[Json]:
    """Of `CompileContext`: budgets of both units, deltas, filters, half of them with nothing but a question."""
    return [_asked(content, scene, mark, _pack_fields) for _ in range(DIFFERENT)]


def embed_queries(content: Content, _: Scene, mark: str) -> list[Json]:
    """Of `Embed`: questions of all kinds, one a call, as readers ask; a part of them again and again."""
    return [{"texts": [content.query(f"{mark} {NUMBER}")], "inputType": "INPUT_TYPE_QUERY"} for _ in range(DIFFERENT)]


def embed_passages(content: Content, _: Scene, mark: str) -> list[Json]:
    """Of `Embed`: one to eight passages a call; a few are longer than the model's window."""
    return [_passages(content, mark) for _ in range(DIFFERENT)]


def yardstick_query(content: Content, _: Scene, mark: str) -> list[Json]:
    """Of `Embed`: one short question of one length, asked for the first time."""
    return [{"texts": [_plain(content, mark)], "inputType": "INPUT_TYPE_QUERY"} for _ in range(DIFFERENT)]


def yardstick_passage(content: Content, _: Scene, mark: str) -> list[Json]:
    """Of `Embed`: the same text as a passage, which embedders let wait behind questions."""
    return [{"texts": [_plain(content, mark)], "inputType": "INPUT_TYPE_PASSAGE"} for _ in range(DIFFERENT)]


def yardstick_entity(content: Content, scene: Scene, _: str) -> list[Json]:
    """Of `GetEntity`: what one small statement costs through gRPC, the service and the database."""
    return [
        {"namespace": content.random.choice(scene.read), "entity": {"key": key(TOPICS[0])}} for _ in range(DIFFERENT)
    ]


REQUESTS: dict[str, Callable[[Content, Scene, str], list[Json]]] = {
    make.__name__: make
    for make in (
        record_observation, batch_record_observations, search, compile_context, embed_queries, embed_passages,
        yardstick_query, yardstick_passage, yardstick_entity,
    )
}  # fmt: skip
"""What makes the requests of a profile, by its name."""


def _asked(content: Content, scene: Scene, mark: str, fields: Callable[[Content, Scene, str], Json]) -> Json:
    # The larger namespaces are asked more.
    namespace = content.random.choices(scene.read, [1 / rank for rank in range(1, len(scene.read) + 1)])[0]
    found = {"namespace": namespace, "query": content.query(f"{mark} {NUMBER}")}
    return found if content.random.random() < 0.5 else found | fields(content, scene, namespace)


def _search_fields(content: Content, scene: Scene, namespace: str) -> Json:
    offered = _common_fields(content, scene, namespace) | {"limit": content.random.choice((1, 5, 20, 50))}
    return _some(content, offered)


def _pack_fields(content: Content, scene: Scene, namespace: str) -> Json:
    budget = content.random.choice(({"characters": 800}, {"characters": 12_000}, {"tokens": 300}, {"tokens": 2_000}))
    offered = _common_fields(content, scene, namespace) | {"budget": budget, "markAllConflicts": True}
    if namespace in scene.packs:
        offered["sincePackId"] = scene.packs[namespace]
    return _some(content, offered)


def _common_fields(content: Content, scene: Scene, namespace: str) -> Json:
    """What a question may carry besides itself."""
    topic = content.random.choice(TOPICS)
    filters: Sequence[Json] = (
        {"scopes": [f"project:{topic.key}"]},
        {"itemKinds": ["ITEM_KIND_CHUNK"]},
        {"itemKinds": ["ITEM_KIND_FACT", "ITEM_KIND_ENTITY"]},
        {"meta": [{"key": "collection", "equals": "handbook"}]},
        {"occurredFrom": moment(content)},
    )
    found: Json = {
        "mode": content.random.choice(_MODES),
        "filter": content.random.choice(filters),
        "at": {"asOf": moment(content)},
        "callerTime": "2026-06-01T10:00:00+03:00",
    }
    if namespace in scene.tokens:
        found["consistencyToken"] = scene.tokens[namespace]
    return found


def _some(content: Content, offered: Json) -> Json:
    return {name: value for name, value in offered.items() if content.random.random() < 0.4}


def _passages(content: Content, mark: str) -> Json:
    lengths = [content.random.choice((1, 2, 4, 8)) for _ in range(content.random.randrange(1, _MOST_TEXTS + 1))]
    if content.random.random() < 0.02:
        lengths = [60]
    texts = [f"{content.text(content.topic(), length)} {mark} {NUMBER}" for length in lengths]
    return {"texts": texts, "inputType": "INPUT_TYPE_PASSAGE"}


def _plain(content: Content, mark: str) -> str:
    return f"what was decided about {content.random.choice(TOPICS).english} in {mark} {NUMBER}"
