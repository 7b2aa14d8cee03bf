"""The hashes of the audit, computable by anyone, so that anyone can check the chain (AU-1)."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from palimpsest.canonical import canonical_message, pack
from palimpsest.v1.governance_pb2 import AuditEvent

_VERSION = "1"
_SEALED = re.compile(r'\{"content":"sha256:[0-9a-f]{64}"\}')
_ERASING = "purge"
_NUMBERS = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")


def event_hash(namespace: str, event: AuditEvent) -> str:
    """Returns the SHA-256, in hex, that an event of a namespace has to carry. The hash in it does not matter."""
    head = pack("palimpsest.audit", _VERSION, namespace)
    chained = canonical_message(_as_chained(namespace, event), leave_out=("hash",))
    return hashlib.sha256(head + chained).hexdigest()


def content_hash(namespace: str, salt: str, target: str, details: str, trace_id: str) -> str:
    """Returns the SHA-256, in hex, that stands in the chain for what a caller told."""
    return hashlib.sha256(
        pack("palimpsest.audit.content", _VERSION, namespace, salt, target, details, trace_id)
    ).hexdigest()


def sealed_details(content: str) -> str:
    """Returns the details in the chain of an event whose content has a hash."""
    return f'{{"content":"sha256:{content}"}}'


def _as_chained(namespace: str, event: AuditEvent) -> AuditEvent:
    """The event as the chain has it: with the hash of its content in place of that."""
    if not event.content_salt:
        return event
    content = content_hash(namespace, event.content_salt, event.target, event.details, event.trace_id)
    chained = AuditEvent()
    chained.CopyFrom(event)
    for field in ("target", "trace_id", "content_salt"):
        chained.ClearField(field)
    chained.details = sealed_details(content)
    return chained


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

    What a caller told may be gone, where a later purge tells that it took it. A chain that was written anew as a whole,
    by who owns the database, is whole: only a head kept elsewhere tells.
    """
    walked, head, gone = 0, (0, ""), set[int]()
    for walked, event in enumerate(events, start=1):
        if fault := _fault(namespace, event, head):
            return ChainCheck(walked, head, fault, head[0] + 1)
        head = (event.sequence, event.hash)
        if _has_lost_content(event):
            gone.add(event.sequence)
        else:
            gone -= _erased_by(event)
        if expected is not None and head[0] == expected[0] and head[1] != expected[1]:
            return ChainCheck(walked, head, "its hash is not the one that was kept", head[0])
    if expected is not None and head[0] < expected[0]:
        return ChainCheck(walked, head, "the chain ends before the one that was kept", head[0] + 1)
    if gone:
        return ChainCheck(walked, head, "what it told is gone, and no purge says so", min(gone))
    return ChainCheck(walked, head)


def _has_lost_content(event: AuditEvent) -> bool:
    return not event.content_salt and bool(_SEALED.fullmatch(event.details))


def _erased_by(event: AuditEvent) -> set[int]:
    """Numbers of the events before whose contents a purge tells that it took."""
    if event.action != _ERASING or event.content_salt or not event.details:
        return set()
    told = json.loads(event.details)
    numbers = told.get("audit_contents", "") if isinstance(told, dict) else ""
    return parse_numbers(numbers, event.sequence) if isinstance(numbers, str) else set()


def format_numbers(numbers: Iterable[int]) -> str:
    """Returns numbers as an event tells them: rising, `3,7-12`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse_numbers(text: str, before: int) -> set[int]:
    """Returns those of the numbers that `format_numbers` wrote which are less than another; none of any other text."""
    found: set[int] = set()
    for run in text.split(",") if _NUMBERS.fullmatch(text) else ():
        first, _, last = run.partition("-")
        found.update(range(int(first), min(int(last or first) + 1, before)))
    return found


def _fault(namespace: str, event: AuditEvent, head: tuple[int, str]) -> str:
    if event.sequence != head[0] + 1:
        return f"it is missing: the next one has number {event.sequence}"
    if event.previous_hash != head[1]:
        return "it does not follow on the one before"
    return "" if event.hash == event_hash(namespace, event) else "its hash is not that of what it says"
