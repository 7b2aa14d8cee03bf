"""Observations on their way into the store, and what became of them, as plain values."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from services.writer.projection.packs import FREE, Packs
from services.writer.projection.rows import Failure, Projection
from shared.errors import PalimpsestError
from shared.labels import split

# Numbers of ObservationStatus.
PROCESSED, PARTIALLY_PROCESSED, FAILED, REDACTED = 2, 3, 4, 5

FailureEntry: TypeAlias = Mapping[str, Any]
"""A failed assertion as it is stored: index, code, reason, message, field, and metadata where there is any."""


@dataclass(frozen=True, slots=True)
class PreparedObservation:
    """An observation that was checked and projected, ready to be stored; attributes named after columns."""

    namespace: str
    observation_id: str
    content_hash: str
    source_system: str
    source_stream: str
    external_id: str
    revision: str
    kind: str
    occurred_at: datetime
    actor_key: str | None
    subject_key: str | None
    scopes: tuple[str, ...]
    content: str
    data: str | None
    message: bytes
    trace_id: str
    assertion_count: int
    projection: Projection
    # The subject of the caller, where permissions make part of it private to them.
    private_to: str = ""
    # What acted in the namespace when it was projected, and how it is projected when something else acts there.
    packs: Packs = field(default=FREE, compare=False)
    # The same, under other packs, or less the assertions of some indices.
    projected_under: Callable[[Packs, Sequence[int]], "PreparedObservation"] | None = field(
        default=None, compare=False, repr=False
    )
    # Assertions that the caller had no role for.
    denied: Sequence[int] = ()
    # The roles that the caller held; None: it may change everything.
    roles: frozenset[str] | None = field(default=None, compare=False)

    def under(self, packs: Packs) -> "PreparedObservation":
        """The same observation, projected under what acts in its namespace."""
        if self.packs == packs or self.projected_under is None:
            return self
        return self.projected_under(packs, self.denied)

    def less(self, denied: Sequence[int]) -> "PreparedObservation":
        """The same observation, less assertions that its caller has no role for."""
        return self.projected_under(self.packs, denied) if self.projected_under else self

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one observation."""
        return self.namespace, self.observation_id

    @property
    def restricting(self) -> list[str]:
        """Labels that hide it."""
        return split(self.scopes)[0]

    @property
    def applies(self) -> list[str]:
        """Labels that say where it applies."""
        return split(self.scopes)[1]

    @property
    def failures(self) -> list[FailureEntry]:
        """What projection refused."""
        return failure_entries(self.projection.failures)

    @property
    def failures_json(self) -> str:
        """The same as it is stored."""
        return json.dumps(self.failures) if self.projection.failures else "[]"

    @property
    def status(self) -> int:
        """How far projection came."""
        return status_of(self.failures, self.assertion_count) if self.projection.failures else PROCESSED

    @property
    def entity_keys(self) -> list[str]:
        """The entities that it writes or names, sorted."""
        return sorted({entity.key for entity in self.projection.entities})

    @property
    def fact_ids(self) -> list[str]:
        """The facts that it asserts, in the order of its assertions."""
        return list(dict.fromkeys(fact.fact_id for fact in self.projection.facts))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of an observation that is stored."""

    observation_id: str
    duplicate: bool
    status: int
    failures: Sequence[FailureEntry]
    recorded_at: datetime
    entity_keys: Sequence[str] = field(default_factory=list)
    fact_ids: Sequence[str] = field(default_factory=list)


Item: TypeAlias = PreparedObservation | PalimpsestError
"""One observation of many, or why it cannot be stored."""
Outcome: TypeAlias = Recorded | PalimpsestError
"""What became of one observation of many."""


def failure_entries(failures: Iterable[Failure]) -> list[FailureEntry]:
    """Failures of projection as they are stored."""
    return [
        {
            "index": failure.index,
            "code": failure.code,
            "reason": failure.reason,
            "message": failure.message,
            "field": failure.field,
            **({"metadata": dict(failure.metadata)} if failure.metadata else {}),
        }
        for failure in failures
    ]


def status_of(failures: Iterable[FailureEntry], assertion_count: int) -> int:
    """How far an observation's projection came, from the assertions that failed (OB-4)."""
    failed = {failure["index"] for failure in failures}
    if not failed:
        return PROCESSED
    return FAILED if len(failed) >= assertion_count else PARTIALLY_PROCESSED
