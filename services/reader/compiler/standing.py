"""How items stand in the store at present, whether found or not: where they are, and which gate stops them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from services.reader.compiler.gates import Gate
from services.reader.compiler.items import Place
from services.reader.rows import Filter, ItemKind, Row
from services.reader.search_statement import SQL, search_arguments
from services.reader.store import Snapshot
from shared.statements import load_statements

_SQL = load_statements(Path(__file__).with_name("standing.sql"), SQL)
_CHUNK = "chunk:"
# A number of FactClosure.
_CORRECTED = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """How an item stands."""

    gate: Gate
    """The first gate of the store that it does not pass, whoever may be told so; NONE: retrieval may find it."""
    words: str
    """The gate in words."""
    place: Place | None
    """Where it is stored. None: nowhere that is searched."""
    is_readable: bool
    """Whether the caller may still read it by its id."""
    text: str
    recorded_at: datetime | None
    has_words: bool
    """Whether it has a word of the query."""


async def standing(snapshot: Snapshot, item_ids: Iterable[str], wanted: Filter, query: str = "") -> dict[str, Standing]:
    """How items stand for the caller, by id, under the filter of a request."""
    asked = list(item_ids)
    if not asked:
        return {}
    kinds, keys, ordinals = zip(*map(_parts, asked), strict=True)
    arguments = search_arguments(wanted, snapshot.holders(wanted), passages=0, limit=0, label_sets=None)
    rows = await snapshot.run(_SQL.standing, query, None, *arguments, list(kinds), list(keys), list(ordinals))
    return {item_id: _standing(item_id, key, row, wanted) for item_id, key, row in zip(asked, keys, rows, strict=True)}


def _parts(item_id: str) -> tuple[int, str, int]:
    """Kind (a chunk or anything else), key and ordinal."""
    key, _, ordinal = item_id.removeprefix(_CHUNK).rpartition("#")
    # More digits than an ordinal has name nothing.
    if item_id.startswith(_CHUNK) and ordinal.isascii() and ordinal.isdigit() and len(ordinal) < 10:
        return ItemKind.CHUNK, key, int(ordinal)
    return 0, item_id, 0


def _standing(item_id: str, key: str, row: Row, wanted: Filter) -> Standing:
    gate, words = _gate(row, wanted)
    is_searched = row["passage_id"] is not None
    return Standing(
        gate=gate,
        words=words,
        place=Place(row["passage_id"], row["kind"], item_id, key, row["status"], row["importance"])
        if is_searched
        else None,
        is_readable=bool(row["is_stored"] and row["is_visible"] and row["is_readable"]),
        text=row["text"] or "",
        recorded_at=row["recorded_at"],
        has_words=row["has_words"],
    )


def _gate(row: Row, wanted: Filter) -> tuple[Gate, str]:
    if not row["is_stored"]:
        return Gate.NOT_FOUND, "There is no such item."
    if not row["is_visible"]:
        return Gate.VISIBILITY, "The caller may not see it."
    if not row["is_applicable"]:
        return Gate.APPLICABILITY, "Its labels, or those whom it is meant for, are of elsewhere."
    if row["is_evidence_lost"]:
        return Gate.EVIDENCE_LOST, "All that it rested on was redacted or purged."
    if words := _what_ended_it(row, wanted):
        return Gate.SUPERSEDED, words
    if row["passage_id"] is None and row["is_readable"]:
        return Gate.NOT_FOUND, "It has no words of its own that could be searched."
    if not row["is_current"]:
        return Gate.STATUS, "It is deleted, expired, archived or a draft."
    if not row["is_wanted"]:
        return Gate.FILTER, "The request's filter leaves it out."
    return Gate.NONE, ""


def _what_ended_it(row: Row, wanted: Filter) -> str:
    """Why it does not hold at the moment that is asked about; empty where it holds."""
    if row["obsolete_at"] and not row["is_current"]:
        return "It was marked obsolete."
    if row["closure"] == _CORRECTED:
        return "It was wrong from the start, and is corrected."
    if row["holds"]:
        return ""
    if row["superseded_by"]:
        return f"It was superseded by {', '.join(row['superseded_by'])}."
    if row["valid_from"] and wanted.as_of is None and not row["valid_to"]:
        return "It does not hold yet."
    return "Its interval does not hold the moment that is asked about."
