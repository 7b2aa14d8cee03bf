"""The hashes of the audit, computable by anyone, so that anyone can check the chain (AU-1)."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from palimpsest.canonical import canonical_message, pack
from palimpsest.v1.governance_pb2 import AuditEvent

_VERSION = "1"


def event_hash(namespace: str, event: AuditEvent) -> str:
    """Returns the SHA-256, in hex, that an event of a namespace has to carry. The hash in it does not matter."""
    head = pack("palimpsest.audit", _VERSION, namespace)
    return hashlib.sha256(head + canonical_message(event, leave_out=("hash",))).hexdigest()


@dataclass(frozen=True)
class ChainCheck:
    """What walking the audit of a namespace found."""

    events: int
    """How many events were walked."""
    head: tuple[int, str]
    """Number and hash of the last one that is whole; (0, "") where there is none. Kept elsewhere, it shows later
    whether the end was cut off."""
    fault: str = ""
    """What is wrong with the first event that is; empty: the chain is whole."""
    fault_at: int = 0
    """The number that this event has, or should have."""


def check_chain(namespace: str, events: Iterable[AuditEvent], expected: tuple[int, str] | None = None) -> ChainCheck:
    """Walks all events of a namespace, by rising number, from the first; `expected` is a head from before, to be met.

    A chain that was written anew as a whole, by who owns the database, is whole: only a head kept elsewhere tells.
    """
    walked, head = 0, (0, "")
    for walked, event in enumerate(events, start=1):
        if fault := _fault(namespace, event, head):
            return ChainCheck(walked, head, fault, head[0] + 1)
        head = (event.sequence, event.hash)
        if expected is not None and head[0] == expected[0] and head[1] != expected[1]:
            return ChainCheck(walked, head, "its hash is not the one that was kept", head[0])
    if expected is not None and head[0] < expected[0]:
        return ChainCheck(walked, head, "the chain ends before the one that was kept", head[0] + 1)
    return ChainCheck(walked, head)


def _fault(namespace: str, event: AuditEvent, head: tuple[int, str]) -> str:
    if event.sequence != head[0] + 1:
        return f"it is missing: the next one has number {event.sequence}"
    if event.previous_hash != head[1]:
        return "it does not follow on the one before"
    return "" if event.hash == event_hash(namespace, event) else "its hash is not that of what it says"
