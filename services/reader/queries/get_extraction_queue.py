"""GetExtractionQueue: what waits for extraction, for how long, and what was given up (CP-5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from services.reader.context import ReadContext
from services.reader.store import Snapshot
from shared.statements import load_statements

SQL = load_statements(Path(__file__).parents[1] / "extraction.sql")
MOST_DEAD_LETTERS = 100


@dataclass(frozen=True, slots=True)
class ExtractionQueue:
    """The queue of a namespace, as far as the caller may see. `errors`: by observation id of dead letters."""

    depth: int
    oldest_age_s: int
    dead_letters: int
    errors: Mapping[str, str]


async def get_extraction_queue(context: ReadContext) -> ExtractionQueue:
    """The queue; empty for an unknown namespace."""

    async def work(snapshot: Snapshot) -> ExtractionQueue:
        [queue] = await snapshot.run(SQL.extraction_queue)
        dead = await snapshot.run(SQL.dead_letters, MOST_DEAD_LETTERS)
        errors = {row["observation_id"]: row["last_error"] for row in dead}
        return ExtractionQueue(queue["depth"], int(queue["oldest_age_s"]), queue["dead"], errors)

    return await context.snapshot(work)
