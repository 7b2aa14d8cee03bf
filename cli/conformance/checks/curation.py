"""Curation, and the health of a memory."""

from palimpsest.v1.governance_pb2 import CapturedMessage

from cli.conformance.building import SYSTEM, at, entity
from cli.conformance.checks.entities import curated
from cli.conformance.expecting import expect, same
from cli.conformance.probe import Probe
from cli.conformance.registry import tries


@tries("CU-1")
def a_pass_is_idempotent(probe: Probe) -> None:
    """A pass in steps of one thing comes to its end; the second one proposes nothing, and the state stays."""
    place = probe.place()
    for number in range(3):
        place.say(entity(f"service:{number}", title="Биллинг платежей"))
    proposed = 0
    for _ in range(200):
        step = place.do("RunCuration", max_items=1)
        proposed += step.duplicates_proposed
        if step.done:
            break
    else:
        expect(False, "a pass in steps of one thing has no end")
    same(proposed, 3, "duplicates that were proposed")
    before = place.ask("Digest").digest
    same(curated(place), 0, "duplicates that a second pass proposed")
    same(place.ask("Digest").digest, before, "the digest after a second pass")
    same(len(place.ask("ListDuplicateProposals").proposals), 3, "proposals that wait")


@tries("CU-2")
def health_is_reported(probe: Probe) -> None:
    """The report counts proposed duplicates, what was scrubbed, and the backlog; the model is named."""
    place = probe.place()
    for number in range(2):
        place.say(entity(f"service:{number}", title="Биллинг платежей"))
    curated(place)
    message = CapturedMessage(message_id="1", text="password: hunter2hunter2", sent_at=at())
    place.do("CaptureMessages", conversation_id="room", system=SYSTEM, messages=[message])
    place.embedded()
    health = place.ask("GetMemoryHealth").health
    same(health.duplicate_proposals, 1, "duplicates that wait")
    same(health.stripped, 1, "what was taken out of captured text")
    same(sum(each.count for each in health.embedding_backlog), 0, "chunks that wait for vectors")
    same(health.embedding_mismatch, False, "whether another model is served than is searched")
    expect(health.active_fingerprint in health.served_fingerprints, "the vectors' model is not served")
