"""Observations in protobuf's JSON form, of every shape that sources send: for the fill, and for ghz to record."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from load.content import PEOPLE, Content, Topic

Json: TypeAlias = dict[str, Any]

SYSTEM = "load"
_SINCE = datetime(2026, 1, 1, tzinfo=UTC)
_DAYS = 180


def observation(content: Content, external_id: str) -> Json:
    """One observation, with its identity; fields that are optional are there or not, by chance."""
    topic, shapes = content.topic(), {_message: 45, _task: 25, _incident: 15, _decision: 10, _page: 5}
    shape = content.random.choices(list(shapes), list(shapes.values()))[0]
    found: Json = {
        "source": {"system": SYSTEM, "stream": topic.key, "externalId": external_id},
        "occurredAt": moment(content),
        **shape(content, topic, external_id),
    }
    for field, make in _OPTIONAL.items():
        if content.random.random() < 0.3:
            found[field] = make(content, topic)
    return found


def moment(content: Content) -> str:
    """Some moment of half a year, RFC 3339, at microseconds."""
    since = timedelta(days=content.random.random() * _DAYS)
    return (_SINCE + since).isoformat(timespec="microseconds").replace("+00:00", "Z")


def key(topic: Topic) -> str:
    """The natural key of what a topic is about."""
    return f"service:{topic.key}"


def _message(content: Content, topic: Topic, _: str) -> Json:
    return {
        "kind": "message",
        "actor": {"type": "person", "id": content.person()},
        "content": content.text(topic, content.random.randrange(1, 4)),
    }


def _task(content: Content, topic: Topic, external_id: str) -> Json:
    """An event with data for programs, an entity, and facts about it."""
    task = {"type": "task", "id": external_id}
    person = content.person()
    return {
        "kind": "task.completed",
        "subject": task,
        "actor": {"type": "person", "id": person},
        "data": json.dumps({"ticket": content.ticket(), "seconds": content.random.randrange(1, 90_000)}),
        "assertions": [
            {"entity": {"entity": {"typed": task}, "title": content.sentence(topic), "aliases": [content.ticket()]}},
            _fact(task, "ASSIGNED_TO", {"entity": {"key": f"person:{person}"}}),
            _fact(task, "ABOUT", {"entity": {"key": key(topic)}}),
        ],
    }


def _incident(content: Content, topic: Topic, external_id: str) -> Json:
    incident = {"type": "incident", "id": external_id}
    links = [{"source": {"typed": incident}, "relation": "CAUSED_BY", "entity": {"key": key(topic)}}]
    return {
        "kind": "incident.closed",
        "subject": incident,
        "content": content.text(topic, content.random.randrange(3, 7)),
        "assertions": [{"link": link} for link in links],
    }


def _decision(content: Content, topic: Topic, _: str) -> Json:
    """Who answers for a service since when: facts whose intervals follow each other."""
    owner = {"entity": {"key": f"person:{content.person()}"}}
    service = {"type": "service", "id": topic.key}
    fact = _fact(service, "OWNED_BY", owner)
    fact["fact"] |= {"validFrom": moment(content), "confidence": round(content.random.uniform(0.5, 1), 2)}
    return {"kind": "decision", "content": content.sentence(topic), "assertions": [fact]}


def _page(content: Content, topic: Topic, external_id: str) -> Json:
    document = {
        "entity": {"typed": {"type": "page", "id": external_id}},
        "title": f"{topic.english} / {topic.russian}",
        "text": content.page(topic),
        "meta": json.dumps({"collection": "handbook", "topic": topic.key}),
        "sourcePath": f"handbook/{topic.key}.md",
    }
    return {"kind": "document", "assertions": [{"document": document}]}


def _fact(subject: Json, predicate: str, value: Json) -> Json:
    return {"fact": {"subject": {"typed": subject}, "predicate": predicate, "object": value}}


def _scopes(content: Content, topic: Topic) -> list[str]:
    """Labels that apply, which hide nothing from anybody: what is counted has to be seen."""
    return [f"project:{topic.key}", f"task_type:{content.random.choice(('bug', 'chore', 'feature'))}"]


_OPTIONAL: dict[str, Callable[[Content, Topic], Any]] = {
    "scopes": _scopes,
    "traceId": lambda content, _: f"trace-{content.random.getrandbits(64):016x}",
    "provenance": lambda content, topic: {
        "uri": f"https://wiki.example/{topic.key}/{content.random.randrange(999)}",
        "author": content.random.choice(PEOPLE),
    },
}
