"""AU-1: events are numbered and chained in SQL as clients do, by any number of writers, unchanged."""

import asyncio
import json
from collections import defaultdict
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from palimpsest.audit import (
    ChainCheck,
    check_chain,
    content_hash,
    event_hash,
    format_numbers,
    parse_numbers,
    sealed_details,
)
from palimpsest.v1 import governance_pb2

from shared import audit
from shared.database import Database
from shared.timestamps import from_datetime
from tests.integration.writing import query

# Characters that both the server and this Python know: of others they may not agree on the normal form.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\0"), max_size=40)
NAMES = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x44F, exclude_characters="\x7f"), min_size=1, max_size=9
)
EVENTS = st.tuples(NAMES, TEXTS, TEXTS, TEXTS, TEXTS)
SEALED = '{"content":"sha256:'


def message(row: dict[str, Any]) -> governance_pb2.AuditEvent:
    """The contract's event."""
    fields = {name: value for name, value in row.items() if name not in ("namespace", "recorded_at")}
    return governance_pb2.AuditEvent(recorded_at=from_datetime(row["recorded_at"]), **fields)


async def append(database: Database, event: tuple[str, ...]) -> audit.AuditEvent:
    namespace, action, actor, target, details = event

    async def work(connection: Any) -> audit.AuditEvent:
        return await audit.append(
            connection, namespace, action=action, actor=actor, target=target, details=details, trace_id="t"
        )

    return await database.transaction(work)


async def append_told(database: Database, event: tuple[str, ...]) -> audit.AuditEvent:
    namespace, action, actor, target, text = event

    async def work(connection: Any) -> audit.AuditEvent:
        details = json.dumps({"text": text}, ensure_ascii=False)
        return await audit.append_told(
            connection, namespace, action=action, actor=actor, target=target, details=details, trace_id=text
        )

    return await database.transaction(work)


async def chains(dsn: str) -> dict[str, list[dict[str, Any]]]:
    """All events, in order, by namespace; each chain is whole."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in await query(dsn, "SELECT * FROM audit_events ORDER BY namespace, sequence"):
        former = found[row["namespace"]][-1] if found[row["namespace"]] else {"sequence": 0, "hash": ""}
        assert (row["sequence"], row["previous_hash"]) == (former["sequence"] + 1, former["hash"])
        assert row["hash"] == event_hash(row["namespace"], message(row))
        found[row["namespace"]].append(row)
    return found


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(EVENTS, min_size=1, max_size=20))
async def test_sql_and_python_hash_alike(dsn: str, database: Database, events: list[tuple[str, ...]]) -> None:
    """AU-1: whatever the texts; what was appended comes back as it was given."""
    appended = [await append(database, event) for event in events]
    for event, row in zip(events, appended, strict=True):
        assert (row.namespace, row.action, row.actor, row.target, row.details) == event
        assert row.hash == event_hash(row.namespace, message(row._asdict()))
    await chains(dsn)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(EVENTS, min_size=1, max_size=20))
async def test_what_callers_tell_is_sealed(dsn: str, database: Database, events: list[tuple[str, ...]]) -> None:
    """AU-1, AU-3: whatever they tell; the chain has nothing of it, and fits with it and without."""
    appended = [await append_told(database, event) for event in events]
    for (_, action, actor, target, text), row in zip(events, appended, strict=True):
        assert (row.action, row.actor, row.target, row.trace_id) == (action, actor, target, text)
        assert row.hash == event_hash(row.namespace, message(row._asdict()))
        assert row.content_salt
    assert len({row.content_salt for row in appended}) == len(events)
    for rows in (await chains(dsn)).values():
        assert {(row["target"], row["details"][: len(SEALED)], row["trace_id"]) for row in rows} == {("", SEALED, "")}


async def test_writers_that_meet_make_one_chain(dsn: str, database: Database) -> None:
    """AU-1: no gap, no fork; a transaction that fails leaves no number behind."""

    async def fail(connection: Any) -> None:
        await audit.append(connection, "a", action="lost", actor="x")
        raise LookupError

    async def lose() -> None:
        with pytest.raises(LookupError):
            await database.transaction(fail)

    told = [append(database, (name, "act", "x", str(number), "")) for number in range(20) for name in "ab"]
    await asyncio.gather(*told, *(lose() for _ in range(5)))
    assert {name: len(rows) for name, rows in (await chains(dsn)).items()} == {"a": 20, "b": 20}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET actor = 'y'",
        "DELETE FROM audit_events",
        "TRUNCATE audit_events",
        "SET session_replication_role = replica; DELETE FROM audit_events",
        "INSERT INTO audit_events TABLE audit_events ON CONFLICT (namespace, sequence) DO UPDATE SET actor = 'y'",
        "MERGE INTO audit_events AS a USING (SELECT 1 AS one) AS b ON a.sequence = b.one WHEN MATCHED THEN DELETE",
    ],
)
async def test_nothing_changes_an_event(dsn: str, database: Database, statement: str) -> None:
    """AU-1: not even the owner of the table, nor a superuser that does not switch the trigger off by its name."""
    await append(database, ("a", "act", "x", "y", ""))
    before = await chains(dsn)
    connection = await asyncpg.connect(dsn)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="audit_events is append-only"):
        await connection.execute(statement)
    await connection.close()
    assert await chains(dsn) == before


async def test_a_path_of_its_own_leads_nobody_elsewhere(dsn: str, database: Database) -> None:
    """AU-1: tables of the same name in a session's temporary schema do not catch what is appended."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("CREATE TEMP TABLE audit_events (LIKE public.audit_events); SET search_path = pg_temp")
    await connection.execute("SELECT public.append_audit('a', 'act', 'x', '', '', '')")
    await connection.close()
    assert len((await chains(dsn))["a"]) == 1


async def test_hashes_and_masks() -> None:
    """AU-1: what stands for texts in the audit tells them to those only who know them."""
    assert audit.masked("Anna Ёлкина, 8-912-345, O'Neil x") == "A*** Ё*****, *-***-***, *'N*** *"
    assert audit.masked("word " * 50).endswith("w*** ")
    assert len(audit.masked("word " * 50)) == 100
    assert audit.digest("a", "") == ""
    assert audit.digest("a", "Anna").startswith("sha256:")
    assert audit.digest("a", "Anna") != audit.digest("b", "Anna")


def whole_chain(length: int) -> list[governance_pb2.AuditEvent]:
    """A chain as it is written."""
    events: list[governance_pb2.AuditEvent] = []
    for number in range(1, length + 1):
        event = governance_pb2.AuditEvent(
            sequence=number, action="act", previous_hash=events[-1].hash if events else ""
        )
        event.hash = event_hash("a", event)
        events.append(event)
    return events


@settings(deadline=None)
@given(st.integers(1, 6), st.data())
def test_tampering_shows_at_the_first_event_that_is_wrong(length: int, data: st.DataObject) -> None:
    """AU-1: an event that is changed, gone, put in, or put elsewhere; changed with its hash, the next one tells."""
    events, place = whole_chain(length), data.draw(st.integers(0, length - 1))
    head = (length, events[-1].hash)
    assert check_chain("a", events, head) == check_chain("a", events) == ChainCheck(length, head)
    changed = governance_pb2.AuditEvent.FromString(events[place].SerializeToString())
    changed.actor = "somebody else"
    forged = governance_pb2.AuditEvent.FromString(changed.SerializeToString())
    forged.hash = event_hash("a", forged)
    number = place + 1
    for tampered, at in (
        ([*events[:place], changed, *events[place + 1 :]], number),
        # Of the last one alone the head tells that was kept.
        ([*events[:place], forged, *events[place + 1 :]], min(number + 1, length)),
        ([*events[:place], *events[place + 1 :]], number),
        ([*events[:place], events[place], *events[place:]], number + 1),
    ):
        check = check_chain("a", tampered, head)
        assert (bool(check.fault), check.fault_at) == (True, at)
    assert check_chain("b", events).fault_at == 1


def test_a_chain_that_was_cut_off_or_written_anew() -> None:
    """AU-1: a head that was kept elsewhere tells; without one, it is whole."""
    events = whole_chain(3)
    head = (3, events[-1].hash)
    assert not check_chain("a", events[:2]).fault
    assert check_chain("a", events[:2], head).fault_at == 3
    assert check_chain("a", [], head).fault_at == 1
    assert check_chain("a", events, (2, "0" * 64)).fault_at == 2
    assert check_chain("a", []) == ChainCheck(0, (0, ""))


def told_chain(*erased: int) -> list[governance_pb2.AuditEvent]:
    """Four events that callers told, of which a purge took those of the numbers."""
    events: list[governance_pb2.AuditEvent] = []
    for number in range(1, 6):
        event = governance_pb2.AuditEvent(sequence=number, previous_hash=events[-1].hash if events else "")
        if number < 5:
            event.MergeFrom(governance_pb2.AuditEvent(action="act", target=f"of {number}", content_salt=f"{number}"))
        else:
            event.action = "purge"
            event.details = json.dumps({"audit_contents": format_numbers(erased)})
        event.hash = event_hash("a", event)
        events.append(event)
    return events


def without_content(event: governance_pb2.AuditEvent) -> governance_pb2.AuditEvent:
    """The event as it is read once what was told is gone."""
    told = content_hash("a", event.content_salt, event.target, event.details, event.trace_id)
    left = governance_pb2.AuditEvent.FromString(event.SerializeToString())
    for field in ("target", "trace_id", "content_salt"):
        left.ClearField(field)
    left.details = sealed_details(told)
    return left


@settings(deadline=None)
@given(st.sets(st.integers(1, 4)), st.sets(st.integers(1, 4)))
def test_only_a_purge_takes_what_was_told(erased: set[int], gone: set[int]) -> None:
    """AU-1, AU-3: the chain fits without it; what is gone, and no later purge names, shows, at the first of it."""
    events = [without_content(each) if each.sequence in gone else each for each in told_chain(*erased)]
    assert [each.hash for each in events] == [event_hash("a", each) for each in events]
    check = check_chain("a", events)
    assert check.fault_at == min(gone - erased, default=0)
    assert bool(check.fault) == bool(gone - erased)
    assert check.head == (5, events[-1].hash)


@pytest.mark.parametrize("details", ["", "[]", '"1"', '{"audit_contents": 1}', '{"audit_contents": "1-"}', '{"a": 1}'])
def test_a_purge_that_names_nothing_takes_nothing(details: str) -> None:
    """AU-1: whatever stands in its details, as explicit events of before may have it."""
    *told, purge = told_chain()
    purge.details = details
    purge.hash = event_hash("a", purge)
    assert check_chain("a", [*told, purge]) == ChainCheck(5, (5, purge.hash))
    assert check_chain("a", [without_content(told[0]), *told[1:], purge]).fault_at == 1


@given(st.sets(st.integers(1, 60)), st.integers(1, 60))
def test_numbers_are_read_as_they_were_written(numbers: set[int], before: int) -> None:
    """AU-1: as runs; of numbers that cannot be, none: a run to the end of all numbers costs nothing."""
    assert parse_numbers(format_numbers(numbers), before) == {each for each in numbers if each < before}
    assert parse_numbers("2-99999999999999999999", 4) == {2, 3}
