"""The fields of a stored fact as every service answers them, but for those that need more than its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.intervals import with_interval
from shared.timestamps import from_datetime

_AS_STORED = (
    "namespace",
    "fact_id",
    "subject_key",
    "predicate",
    "evidence",
    "confidence",
    "importance",
    "observation_ids",
    "supersedes",
    "superseded_by",
    "closure",
    "source_path",
    "scopes",
    "origin",
    "attributes",
    "evidence_lost",
    "obsolete_reason",
)
_MOMENTS = ("valid_from", "valid_to", "observed_at", "recorded_at", "expires_at", "obsolete_at")


def fact_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """The contract's fields by name, less object and status. The sentence tells the interval too."""
    fields = {name: row[name] for name in _AS_STORED}
    moments = {name: from_datetime(row[name]) for name in _MOMENTS if row[name] is not None}
    return {**fields, **moments, "sentence": with_interval(row["sentence"], row["valid_from"], row["valid_to"])}
