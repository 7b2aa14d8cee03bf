"""The audit and receipts as messages of the contract."""

from __future__ import annotations

import json
from typing import Any

from palimpsest.v1 import governance_pb2

from services.reader.rows import Row
from shared.timestamps import from_datetime


def to_event(row: Row) -> governance_pb2.AuditEvent:
    """An event."""
    fields: dict[str, Any] = dict(row.items())
    return governance_pb2.AuditEvent(**{**fields, "recorded_at": from_datetime(row["recorded_at"])})


def to_receipt(row: Row) -> governance_pb2.ErasureReceipt:
    """A receipt."""
    fields: dict[str, Any] = dict(row.items())
    converted = {"erased_at": from_datetime(row["erased_at"]), "counts": json.loads(row["counts"])}
    return governance_pb2.ErasureReceipt(**(fields | converted))
