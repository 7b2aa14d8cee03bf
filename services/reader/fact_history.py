"""What happened to a fact, told from all that it ever was (FA-11). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from services.reader.rows import Row
from shared.timestamps import EARLIEST

_CORRECTED_CLOSURE = 4
_ARCHIVED_STATUS = 5
_MOST_OBSERVATIONS = 200


class EventType(IntEnum):
    """What happened; numbers of the contract."""

    ASSERTED = 1
    REINFORCED = 2
    CLOSED = 3
    SUPERSEDED = 4
    CORRECTED = 5
    OBSOLETED = 6
    RESTORED = 7
    EVIDENCE_LOST = 8
    CONFIRMED = 9
    ARCHIVED = 10
    DELETED = 11


@dataclass(frozen=True, slots=True)
class FactEvent:
    """One change: when it became known, what caused it, and the fact as it was afterwards."""

    type: EventType
    recorded_at: datetime
    fact: Row
    observation_id: str = ""
    other_fact_id: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Cause:
    type: EventType
    observation_id: str = ""
    other_fact_id: str = ""
    reason: str = ""


def fact_events(versions: Sequence[Row], evidence: Sequence[Row], statements: Sequence[Row]) -> list[FactEvent]:
    """The events, oldest first.

    `versions` are what the fact ever was and `evidence` the observations that it rests on, both with `known_from` and
    by it; `statements` are what observations said of its end.
    """
    moments = sorted({row["known_from"] for row in (*versions, *evidence)})
    events: list[FactEvent] = []
    before: Row | None = None
    for moment in moments:
        # The last version of a moment counts: a transaction's own steps were never known.
        after = next((row for row in reversed(versions) if row["known_from"] <= moment), None)
        if after is None:
            continue
        held = sorted(row["observation_id"] for row in evidence if row["known_from"] <= moment)
        fact = {**after, "observation_ids": held[:_MOST_OBSERVATIONS]}
        new = [row["observation_id"] for row in evidence if row["known_from"] == moment]
        causes = [*_of_evidence(new, is_first=before is None), *_of_state(before or _bare(after), after, statements)]
        events += [
            FactEvent(each.type, moment, fact, each.observation_id, each.other_fact_id, each.reason) for each in causes
        ]
        before = after
    return events


def _bare(first: Row) -> Row:
    """The fact as its first evidence alone would have it: it may have been closed before it arrived."""
    return {
        **first,
        "valid_to": first["asserted_valid_to"],
        "closure": 0,
        "superseded_by": [],
        "obsolete_at": None,
        "evidence_lost": False,
        "archived": None,
        "withdrawn": False,
    }


def _of_evidence(observation_ids: Sequence[str], *, is_first: bool) -> Iterator[_Cause]:
    if is_first:
        yield _Cause(EventType.ASSERTED, next(iter(observation_ids), ""))
    for observation_id in observation_ids[is_first:]:
        yield _Cause(EventType.REINFORCED, observation_id)


def _of_state(before: Row, after: Row, statements: Sequence[Row]) -> Iterator[_Cause]:
    ends = list(_of_ends(before, after, statements))
    yield from ends
    if not ends:
        yield from _of_interval(before, after, statements)
    if before["obsolete_at"] is None and after["obsolete_at"] is not None:
        yield _Cause(EventType.OBSOLETED, reason=after["obsolete_reason"])
    if not before["evidence_lost"] and after["evidence_lost"]:
        yield _Cause(EventType.EVIDENCE_LOST)
    if not _is_archived(before) and _is_archived(after):
        yield _Cause(EventType.ARCHIVED)
    if not before["withdrawn"] and after["withdrawn"]:
        yield _Cause(EventType.DELETED)
    held_back = zip(_out_of_answers(before), _out_of_answers(after), strict=True)
    yield from (_Cause(EventType.RESTORED) for was, still_is in held_back if was and not still_is)


def _out_of_answers(row: Row) -> tuple[bool, ...]:
    """Each thing that keeps a fact out of answers and can be taken back."""
    is_wrong = row["closure"] == _CORRECTED_CLOSURE
    return row["obsolete_at"] is not None, _is_archived(row), bool(row["withdrawn"]), is_wrong


def _of_ends(before: Row, after: Row, statements: Sequence[Row]) -> Iterator[_Cause]:
    """What other facts, and corrections, did to it."""
    became_wrong = after["closure"] == _CORRECTED_CLOSURE != before["closure"]
    for other in sorted(set(after["superseded_by"]) - set(before["superseded_by"])):
        # A correction that was undone may be said again: the last one counts, but the first supersession.
        told = reversed(statements) if became_wrong else statements
        said = next((row for row in told if row["other_fact_id"] == other), None)
        corrects = became_wrong and said is not None and said["correction"]
        kind = EventType.CORRECTED if corrects else EventType.SUPERSEDED
        yield _Cause(kind, said["observation_id"] if said else "", other, said["reason"] if said else "")
        became_wrong = became_wrong and not corrects
    if became_wrong:
        said = next((row for row in reversed(statements) if row["valid_to"] == EARLIEST), None)
        yield _Cause(EventType.CORRECTED, said["observation_id"] if said else "", reason=said["reason"] if said else "")
    stamp = _correction_in_place(after)
    if stamp is not None and stamp != _correction_in_place(before):
        yield _Cause(EventType.CORRECTED, stamp)


def _of_interval(before: Row, after: Row, statements: Sequence[Row]) -> Iterator[_Cause]:
    former, end = before["valid_to"], after["valid_to"]
    if former == end:
        return
    if end is None or (former is not None and end > former):
        yield _Cause(EventType.RESTORED)
        return
    said = next((row for row in reversed(statements) if row["valid_to"] == end), None)
    yield _Cause(EventType.CLOSED, said["observation_id"] if said else "", reason=said["reason"] if said else "")


def _is_archived(row: Row) -> bool:
    return bool(row["archived"]) or (row["archived"] is None and row["status"] == _ARCHIVED_STATUS)


def _correction_in_place(row: Row) -> str | None:
    stamp = json.loads(row["stamps"]).get("corrected")
    return str(stamp[1]) if stamp else None
