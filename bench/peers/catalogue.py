"""Which peers there are, and what each needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Entry:
    """A peer."""

    name: str
    title: str
    packages: tuple[str, ...]
    """What pip is told to install."""
    shown: tuple[str, ...]
    """Distributions whose versions are told."""
    adapter: str
    postgres: bool = True


FLOOR = "raw_sql"
"""The peer that the others are told as ratios to."""

ENTRIES = {
    entry.name: entry
    for entry in (
        Entry(
            "ours",
            "Palimpsest (gRPC, two services)",
            (str(_ROOT / "protos"), f"{_ROOT}[local]"),
            ("palimpsest-memory-services",),
            "ours",
        ),
        Entry(FLOOR, "raw SQL (asyncpg, pgvector)", ("asyncpg",), ("asyncpg",), "raw_sql"),
        Entry("mem0", "mem0 (pgvector, no LLM)", ("mem0ai", "psycopg[binary,pool]"), ("mem0ai",), "mem0_memory"),
        Entry(
            "langgraph",
            "LangGraph PostgresStore",
            ("langgraph-checkpoint-postgres", "langgraph", "psycopg[binary,pool]"),
            ("langgraph", "langgraph-checkpoint-postgres"),
            "langgraph_store",
        ),
        Entry("lancedb", "LanceDB hybrid", ("lancedb",), ("lancedb",), "lancedb_table", postgres=False),
        Entry(
            "hindsight", "Hindsight recall (no LLM)", ("hindsight-api-slim",), ("hindsight-api-slim",),
            "hindsight_server",
        ),
    )
}  # fmt: skip
