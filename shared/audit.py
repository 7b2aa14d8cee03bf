"""The audit (AU-1): events that are there once the caller's transaction is, each with the hash of the one before.

An event outlives every purge, so it names things by stable ids, hashes and masked forms, never by their content. What
callers tell lies beside it, where a purge reaches it (AU-3); the event has a salted hash of that.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from palimpsest.audit import content_hash, sealed_details
from palimpsest.canonical import pack

from shared.database import Connection
from shared.mentions import texts_of_json, words_of
from shared.statements import load_statements
from shared.telemetry import current_trace_id

_statements = load_statements(Path(__file__).with_name("audit.sql"))

SYSTEM = "palimpsest"
"""The actor of what happens by itself, as settings have it."""
SYSTEM_NAMESPACE = "palimpsest.system"
"""Where the audit has what concerns no namespace, such as who may do what."""

MOST_MASKED_CHARACTERS = 100
_SALT_BYTES = 32
_WORD = re.compile(r"\w+")
_SHORT = 3


class AuditEvent(NamedTuple):
    """An event as it is told; fields named after the contract's AuditEvent."""

    namespace: str
    sequence: int
    action: str
    actor: str
    target: str
    details: str
    trace_id: str
    recorded_at: datetime
    hash: str
    previous_hash: str
    content_salt: str = ""


async def append(
    connection: Connection,
    namespace: str,
    *,
    action: str,
    actor: str,
    target: str = "",
    details: Mapping[str, Any] | str = "",
    trace_id: str = "",
) -> AuditEvent:
    """Append an event in the caller's transaction, which has to be READ COMMITTED; the event as stored.

    Other events of the namespace wait till that transaction ends, so do it last. `details` is an object that goes in as
    JSON, or JSON text. Without `trace_id` the event is of the trace of the call under way. A replica cannot append:
    DatabaseUnavailable.
    """
    text = details if isinstance(details, str) else json.dumps(details, ensure_ascii=False, separators=(",", ":"))
    return await _append(connection, namespace, action, actor, target, text, trace_id or current_trace_id())


async def append_told(
    connection: Connection, namespace: str, *, action: str, actor: str, target: str, details: str, trace_id: str
) -> AuditEvent:
    """Append an event as a caller tells it, as `append` does: what it tells lies beside the event, for a purge to find.

    `details` is JSON of an object, or empty.
    """
    salt, trace_id = secrets.token_hex(_SALT_BYTES), trace_id or current_trace_id()
    sealed = sealed_details(content_hash(namespace, salt, target, details, trace_id))
    event = await _append(connection, namespace, action, actor, "", sealed, "")
    words = words_of(target, trace_id, *(texts_of_json(details) if details else ()))
    await connection.execute(
        _statements.keep_content, namespace, event.sequence, salt, target, details, trace_id, words
    )
    return event._replace(target=target, details=details, trace_id=trace_id, content_salt=salt)


async def _append(connection: Connection, namespace: str, *told: str) -> AuditEvent:
    row = await connection.fetchrow(_statements.append, namespace, *told)
    assert row is not None
    return AuditEvent(**dict(row.items()))


def digest(namespace: str, text: str) -> str:
    """A text as a hash, `sha256:` and hex: who knows the text can find it, who does not cannot read it. Empty for none.

    Of the namespace, so that equal texts of two tenants cannot be told to be equal.
    """
    if not text:
        return ""
    return f"sha256:{hashlib.sha256(pack('palimpsest.audit.text', '1', namespace, text)).hexdigest()}"


def described(namespace: str, **texts: str) -> dict[str, str]:
    """What an event's details say of texts: of each that is not empty `<name>_hash` and `<name>_masked`."""
    said = {name: text for name, text in texts.items() if text}
    hashes = {f"{name}_hash": digest(namespace, text) for name, text in said.items()}
    return hashes | {f"{name}_masked": masked(text) for name, text in said.items()}


def masked(text: str) -> str:
    """A text of which the shape is left: the first letter of each word of four or more, all else of words as `*`."""
    return _WORD.sub(_masked_word, text[:MOST_MASKED_CHARACTERS])


def _masked_word(found: re.Match[str]) -> str:
    word = found[0]
    shown = len(word) > _SHORT and word[0].isalpha()
    return (word[0] if shown else "*") + "*" * (len(word) - 1)
