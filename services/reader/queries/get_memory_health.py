"""GetMemoryHealth: whether a namespace's memory is well (CU-2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from services.reader.context import ReadContext
from services.reader.namespaces import acting
from services.reader.queries.get_extraction_queue import SQL as EXTRACTION
from services.reader.rows import Row
from services.reader.store import Snapshot
from services.reader.visibility import VISIBILITY
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).parents[1] / "curation.sql", VISIBILITY)

EXPIRES_WITHIN = timedelta(days=30)
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
BACKLOG_AGES_S = (0, _MINUTE_S, 10 * _MINUTE_S, _HOUR_S, _DAY_S)
CONFLICT_AGES_S = (0, _DAY_S, 7 * _DAY_S, 30 * _DAY_S, 90 * _DAY_S)


@dataclass(frozen=True, slots=True)
class AgeCount:
    """How many things are at least so old, and not of the next age."""

    from_s: int
    number: int


@dataclass(frozen=True, slots=True)
class MemoryHealth:
    """The report, as far as the caller may see."""

    evidence_expiring: int
    conflicts: tuple[AgeCount, ...]
    rejected: Mapping[str, int]
    embedding_backlog: tuple[AgeCount, ...]
    duplicate_proposals: int
    stripped: int
    extraction_backlog: tuple[AgeCount, ...]
    dead_letters: int
    active_fingerprint: str = ""
    served_fingerprints: Sequence[str] = ()
    # "In no answer for 90 days" can only be said where answers have been recorded for 90 days. They are not yet, and
    # what is not known must not be reported as a finding: zero, until there are traces that go back so far.
    never_recalled: int = 0

    @property
    def embedding_mismatch(self) -> bool:
        """Whether models are served, but not the one of the vectors that are searched (EM-4)."""
        is_known = bool(self.active_fingerprint and self.served_fingerprints)
        return is_known and self.active_fingerprint not in self.served_fingerprints


async def get_memory_health(context: ReadContext, served_fingerprints: Sequence[str] = ()) -> MemoryHealth:
    """The report, with the models that are served now; zeros for an unknown namespace."""

    async def work(snapshot: Snapshot) -> MemoryHealth:
        namespace = await acting(snapshot)
        soon = datetime.now(UTC) + EXPIRES_WITHIN
        [expiring] = await snapshot.run(_SQL.evidence_expiring, soon, namespace.observations_kept_s)
        [proposals] = await snapshot.run(_SQL.count_proposals)
        [stripped] = await snapshot.run(EXTRACTION.stripped)
        [extraction] = await snapshot.run(EXTRACTION.extraction_queue)
        return MemoryHealth(
            evidence_expiring=expiring["number"],
            conflicts=_ages(await snapshot.run(_SQL.conflicts_by_age, list(CONFLICT_AGES_S), namespace.single_valued)),
            rejected={row["reason"]: row["number"] for row in await snapshot.run(_SQL.rejections)},
            embedding_backlog=_ages(await snapshot.run(_SQL.backlog_by_age, list(BACKLOG_AGES_S))),
            duplicate_proposals=proposals["number"],
            stripped=stripped["number"],
            extraction_backlog=_ages(await snapshot.run(EXTRACTION.extraction_by_age, list(BACKLOG_AGES_S))),
            dead_letters=extraction["dead"],
            active_fingerprint=await snapshot.active_fingerprint(),
            served_fingerprints=served_fingerprints,
        )

    return await context.snapshot(work)


def _ages(rows: Sequence[Row]) -> tuple[AgeCount, ...]:
    return tuple(AgeCount(row["from_s"], row["number"]) for row in rows if row["number"])
