"""The search statement: which of its variants a search takes, and its arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.reader.retrieval import tuning
from services.reader.retrieval.time_expressions import Window
from services.reader.rows import Filter
from services.reader.visibility import VISIBILITY
from shared.namespace_defaults import TEXT_SEARCH_CONFIGURATIONS
from shared.statements import load_statements

SQL = load_statements(Path(__file__).with_name("search_store.sql"), VISIBILITY)

SETTINGS = {
    # Until it is known how large the namespace is: what is asked first has one plan.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    # A search takes milliseconds, which compiling and more processes only add to.
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    # At most this lets a wrong letter in the middle of six through, or two that changed places in nine.
    "pg_trgm.word_similarity_threshold": "0.4",
    "hnsw.iterative_scan": "relaxed_order",
    # Recall@10 in the largest namespace of 1,000,000: with 400 .981, with 600 .992, with 800 .993, with 1000 .995.
    "hnsw.ef_search": "1000",
    # A walk that has looked at so many and not found enough is given up: what it walks for is less than a fortieth.
    "hnsw.max_scan_tuples": "4000",
}
"""Settings of a transaction that searches."""


@dataclass(frozen=True, slots=True)
class VectorTable:
    """A table of vectors that is searched, and what its index holds of them (EM-6)."""

    name: str
    first_pass: str = "whole"
    """`whole`, `binary` or `truncated`."""
    dimension: int | None = None
    """Of what the index holds; None: whole."""

    def walk(self) -> dict[str, str]:
        """The parts of the statement that walk the index."""
        if self.dimension is None:
            return {"walked_by": "by_whole", "times": "1"}
        way, times = _FIRST_PASSES[self.first_pass]
        return {"walked_by": way, "times": str(times), "dimension": str(self.dimension)}


_FIRST_PASSES = {"binary": ("by_bits", tuning.BINARY_TIMES), "truncated": ("by_beginning", tuning.TRUNCATED_TIMES)}


def search_statement(
    vectors: VectorTable | None,
    *,
    approximate: bool,
    by_label_set: bool,
    words: str,
    is_few: bool,
    wanted: Filter,
    is_remembered: bool = False,
) -> str:
    """The variant for a table of vectors, None: no vector, and for a small namespace or a large one.

    `is_remembered`: that it is small, and all else that it is chosen by, is found out by the way; then the most
    passages of a small namespace are one more argument.
    """
    parts = {"nearest": "nearest_none"}
    if vectors:
        parts = {"nearest": _way_of_vectors(approximate=approximate, is_few=is_few), "vectors": vectors.name}
        parts["labels"] = "labels_by_set" if by_label_set else "labels_by_row"
        parts |= vectors.walk() if approximate else {}
    if words or vectors:
        parts["filter"] = _filter(wanted)
    parts["here"] = "here_remembered" if is_remembered else "here_prepared"
    return SQL.with_table("search", words=_way_of_words(words, is_few=is_few), **parts)


def names_statement(wanted: Filter) -> str:
    """The search by names; its last argument is the words that are sought."""
    return SQL.with_table("search_names", filter=_filter(wanted))


def _filter(wanted: Filter) -> str:
    return "wanted" if wanted.narrows else "everything"


def _way_of_vectors(*, approximate: bool, is_few: bool) -> str:
    if approximate:
        return "nearest_approximate"
    return "nearest_of_few" if is_few else "nearest_exact"


def _way_of_words(words: str, *, is_few: bool) -> str:
    if not words:
        return "words_none"
    return "words_of_few" if is_few else "words_of_many"


def search_arguments(
    wanted: Filter,
    holders: Sequence[str],
    passages: int,
    limit: int,
    label_sets: Sequence[int] | None,
    configurations: Collection[str] = TEXT_SEARCH_CONFIGURATIONS,
    window: Window | None = None,
) -> tuple[Any, ...]:
    """The arguments of any variant, after words and vector."""
    return (
        limit,
        list(wanted.labels),
        wanted.as_of,
        wanted.include_drafts,
        list(holders),
        float(passages),
        tuning.QUERY_LEXEMES,
        tuning.COUNTED_ROWS,
        float(tuning.LEXICAL_ROWS),
        tuning.OTHER_SCRIPT_SHARE,
        tuning.LEADING,
        tuning.AUTHORS,
        list(wanted.item_kinds),
        list(wanted.entity_kinds),
        list(wanted.source_systems),
        wanted.occurred_from,
        wanted.occurred_before,
        list(wanted.entity_keys),
        wanted.meta,
        label_sets,
        # Russian stems Latin words as English does.
        bool({"russian", "english"} & {*configurations}),
        "simple" in configurations,
        window.start if window else None,
        window.before if window else None,
        tuning.SPOKEN_OF_FOR,
    )
