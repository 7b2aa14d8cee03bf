"""AU-1, SH-5: the test vectors that stand in the comment of AuditEvent are what is computed."""

import unicodedata
from pathlib import Path

import pytest
from palimpsest.audit import event_hash
from palimpsest.v1.governance_pb2 import AuditEvent

PROTO = Path(__file__).parents[2] / "protos/palimpsest/v1/governance.proto"


def event(recorded_at: str, **fields: object) -> AuditEvent:
    made = AuditEvent(**fields)  # type: ignore[arg-type]
    made.recorded_at.FromJsonString(recorded_at)
    return made


FIRST = event(
    "2026-03-01T00:30:00.000001+03:00",
    sequence=1,
    action="export",
    actor="service:crm",
    target="obs-a7ef7ba31d51697a25270977",
    details='{"rows":2}',
    trace_id="t1",
)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_vectors_hold(form: str) -> None:
    """AU-1: and each is in the comment."""
    first = event_hash("demo", FIRST)
    actor = unicodedata.normalize(form, "Ёж")
    second = event("1969-12-31T23:59:59.999999Z", sequence=2, action="note", actor=actor, previous_hash=first)
    salted = AuditEvent(content_salt="00")
    salted.MergeFrom(FIRST)
    comment = PROTO.read_text()
    for computed in (first, event_hash("демо", second), event_hash("demo", salted)):
        assert f"→ {computed}\n" in comment


def test_the_hash_in_an_event_does_not_matter() -> None:
    """AU-1: all else does, the namespace included."""
    changed = AuditEvent.FromString(FIRST.SerializeToString())
    changed.hash = "0" * 64
    assert event_hash("demo", changed) == event_hash("demo", FIRST)
    assert event_hash("other", FIRST) != event_hash("demo", FIRST)
    changed.target += "0"
    assert event_hash("demo", changed) != event_hash("demo", FIRST)
