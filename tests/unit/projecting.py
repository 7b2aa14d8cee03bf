"""Observations for tests of projection, and what they project to."""

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest import ids
from palimpsest.v1.observation_pb2 import Assertion, Observation

from services.writer.projection.project import project
from services.writer.projection.rows import EntityWrite, Projection

OCCURRED_AT = "2026-08-07T23:30:00Z"


def at(text: str) -> Timestamp:
    """The moment of an RFC 3339 text."""
    found = Timestamp()
    found.FromJsonString(text)
    return found


def observed(*assertions: dict[str, Any], **fields: Any) -> Observation:
    """An observation with these assertions, each as `{"fact": {...}}`."""
    given = {"source": {"system": "jira", "stream": "ops", "external_id": "1"}, "kind": "note"}
    return Observation(
        **{**given, "occurred_at": at(OCCURRED_AT), **fields}, assertions=[Assertion(**each) for each in assertions]
    )


def projected(*assertions: dict[str, Any], **fields: Any) -> Projection:
    """What such an observation in the namespace `demo` projects to."""
    observation = observed(*assertions, **fields)
    return project("demo", observation, ids.observation_id("demo", observation.source))


def the_entity(projection: Projection, key: str) -> EntityWrite:
    """The one write of a key that says something of it."""
    [write] = [each for each in projection.entities if each.key == key and each.described]
    return write
