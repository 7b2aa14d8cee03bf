"""Receipts of erasures, each with its event in the audit (AU-1, AU-3)."""

import hashlib
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from palimpsest.canonical import pack

from services.writer.erasure_store import ErasureStore, Receipt
from services.writer.source_store import SourceKey
from shared import audit
from shared.database import Connection

_ID_DIGITS = 24


def redaction_receipt_id(namespace: str, observation_id: str) -> str:
    """The id of the receipt of a redaction, which follows from what was redacted."""
    digest = hashlib.sha256(pack("palimpsest.redaction", "1", namespace, observation_id)).hexdigest()
    return f"erasure-{digest[:_ID_DIGITS]}"


def fresh_receipt_id() -> str:
    """An id that no receipt has."""
    return f"erasure-{secrets.token_hex(_ID_DIGITS // 2)}"


def key_target(namespace: str, key: str) -> str:
    """How events name an entity: a key may be personal data, so its hash."""
    return f"entity:{audit.digest(namespace, key)}"


def source_told(source: SourceKey) -> tuple[str, dict[str, str]]:
    """How events name a source: by a hash, for a stream may be named after a person; and particulars that tell more."""
    namespace, system, stream = source
    name = f"{system}/{stream}" if stream else system
    return f"source:{audit.digest(namespace, name)}", {"system": system, **audit.described(namespace, source=name)}


async def keep_receipt(
    connection: Connection,
    namespace: str,
    *,
    receipt_id: str,
    action: str,
    target: str,
    counts: Mapping[str, int],
    by: str,
    reason: str,
    details: Mapping[str, Any],
    erased_at: datetime | None = None,
    kept_reason: str | None = None,
) -> Receipt:
    """Appends the event of an erasure and keeps its receipt, in the transaction that erases; the receipt.

    `erased_at`: where rows tell the moment, too; else it is the event's. `kept_reason`: what of the reason the receipt
    keeps; else all.
    """
    event = await audit.append(
        connection,
        namespace,
        action=action,
        actor=by,
        target=target,
        details={**details, "receipt": receipt_id, "counts": counts, **audit.described(namespace, reason=reason)},
    )
    kept = reason if kept_reason is None else kept_reason
    receipt = Receipt(receipt_id, erased_at or event.recorded_at, counts, by, kept, event.hash)
    await ErasureStore(connection, namespace).insert_receipt(receipt)
    return receipt
