"""The hash of an event of the audit, computable by anyone, so that anyone can check the chain (AU-1)."""

import hashlib

from palimpsest.canonical import canonical_message, pack
from palimpsest.v1.governance_pb2 import AuditEvent

_VERSION = "1"


def event_hash(namespace: str, event: AuditEvent) -> str:
    """Returns the SHA-256, in hex, that an event of a namespace has to carry. The hash in it does not matter."""
    head = pack("palimpsest.audit", _VERSION, namespace)
    return hashlib.sha256(head + canonical_message(event, leave_out=("hash",))).hexdigest()
