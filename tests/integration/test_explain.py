"""Why an item is in a pack, or which gate kept it out (RE-7)."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.fact_pb2 import FactCorrection
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.record_pb2 import MemoryRecord, Rule, RuleScope
from palimpsest.v1.reference_pb2 import STATUS_ARCHIVED, STATUS_DRAFT

from services.reader.compiler.compiling import Wish
from services.reader.compiler.gates import Gate
from services.reader.context import ReadContext
from services.reader.contexts import messages
from services.reader.contexts.trace_store import TraceStore
from services.reader.embedder_client import EmbedderClient
from services.reader.queries.compile_context import compile_context
from services.reader.queries.explain import Explanation, explain
from services.reader.request_messages import to_query
from services.reader.retrieval.retrieve import Retriever
from services.reader.store import Store
from services.reader.view import View
from shared.database import Database
from tests.integration.compiling import LEXICAL, compiled, explained
from tests.integration.reader_process import Vectors, embed_all
from tests.integration.reader_seed import NOON, Seed
from tests.integration.writing import NAMESPACE, Writer, at, entity, fact, fact_id, observation, observation_id

pytest_plugins = ("tests.integration.reader_fixtures",)


async def test_an_item_that_is_in(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-7: its number, its scores and its whole chain."""
    said = observation("17", fact("person:alice", "WORKS_ON", "project:alpha"))
    await writer.record(said)
    response = await compiled(reader, "alice works alpha")

    found = await explained(reader, response.trace_id, fact_id(said.assertions[0]))

    [item] = [each for each in response.pack.items if each.item_id == fact_id(said.assertions[0])]
    assert (found.gate, found.explanation) == (retrieval.GATE_UNSPECIFIED, f"It is in the pack, as [{item.number}].")
    assert list(found.signals) == list(item.signals)
    assert [step.observation_id for step in found.provenance] == [observation_id(said)]


async def test_what_is_only_named(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-7: the end of a fact that nobody has described is neither deleted nor a draft: there is nothing to search."""
    await writer.record(observation("17", fact("person:alice", "WORKS_ON", "project:alpha")))
    response = await compiled(reader, "alice works alpha")

    found = await explained(reader, response.trace_id, "person:alice")

    assert (found.gate, found.explanation) == (
        retrieval.GATE_NOT_FOUND, "It has no words of its own that could be searched."
    )  # fmt: skip


async def gate(reader: ReaderServiceStub, item_id: str, query: str = "gateway", **fields: Any) -> int:
    """Which gate keeps an item out of a pack."""
    response = await compiled(reader, query, **fields)
    found = await explained(reader, response.trace_id, item_id)
    assert found.explanation.endswith(".")
    assert found.gate == retrieval.GATE_UNSPECIFIED or item_id not in {item.item_id for item in response.pack.items}
    return found.gate


@pytest.mark.parametrize(
    ("columns", "fields", "expected"),
    [
        ({"scopes": ["project:beta"]}, {"filter": {"scopes": ["project:alpha"]}}, retrieval.GATE_APPLICABILITY),
        ({"status": STATUS_DRAFT}, {}, retrieval.GATE_STATUS),
        ({"status": STATUS_DRAFT}, {"filter": {"include_drafts": True}}, retrieval.GATE_UNSPECIFIED),
        ({"status": STATUS_ARCHIVED}, {}, retrieval.GATE_STATUS),
        ({"expires_at": NOON - timedelta(days=9000)}, {}, retrieval.GATE_STATUS),
        ({"hidden": True}, {}, retrieval.GATE_STATUS),
        ({}, {"filter": {"item_kinds": [retrieval.ITEM_KIND_FACT]}}, retrieval.GATE_FILTER),
        ({}, {"filter": {"entity_kinds": ["page"]}}, retrieval.GATE_FILTER),
        ({}, {"filter": {"source_systems": ["mail"]}}, retrieval.GATE_FILTER),
        ({}, {"filter": {"occurred_before": Timestamp(seconds=1)}}, retrieval.GATE_FILTER),
        ({}, {"filter": {"entities": [{"key": "page:1"}]}}, retrieval.GATE_FILTER),
        ({}, {"filter": {"meta": [{"key": "k", "equals": "v"}]}}, retrieval.GATE_FILTER),
        ({}, {}, retrieval.GATE_UNSPECIFIED),
    ],
)
async def test_gates_of_the_store(
    seed: Seed, reader: ReaderServiceStub, columns: dict[str, Any], fields: dict[str, Any], expected: int
) -> None:
    """RE-7: labels of elsewhere, status, the request's filter."""
    made = await seed.note("1", "The gateway was restarted", **columns)

    assert await gate(reader, f"chunk:{made}#0", **fields) == expected


async def test_gates_of_facts(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-7: superseded, closed, not yet true, corrected, obsolete, without evidence, deleted."""
    old = fact("service:gateway", "OWNED_BY", "team:red", valid_from=at(0))
    new = fact("service:gateway", "OWNED_BY", "team:blue", valid_from=at(60), supersedes=[fact_id(old)])
    ended = fact("service:gateway", "RUNS_ON", "host:a", valid_from=at(0), valid_to=at(5))
    early = fact("service:gateway", "RUNS_ON", "host:z", valid_from=Timestamp(seconds=32_503_680_000))
    wrong = fact("service:gateway", "WRITTEN_IN", "cobol")
    stale = fact("service:gateway", "SPEAKS", "soap")
    lost, gone = fact("service:gateway", "READS", "canary"), fact("service:gateway", "LOGS_TO", "disk")
    lost_said = observation("lost", lost)
    await writer.record_all(observation("1", old), observation("2", new, minutes=60), lost_said)
    await writer.record_all(observation("3", ended), observation("4", early, wrong, stale, gone))
    right = fact("service:gateway", "WRITTEN_IN", "rust")
    correction = FactCorrection(fact_id=fact_id(wrong), replacement=right.fact, reason="mistyped")
    await writer.stub.CorrectFact(writes.CorrectFactRequest(namespace=NAMESPACE, correction=correction))
    await writer.stub.MarkObsolete(writes.MarkObsoleteRequest(namespace=NAMESPACE, fact_id=fact_id(stale), reason="x"))
    await writer.stub.DeleteItem(writes.DeleteItemRequest(namespace=NAMESPACE, fact_id=fact_id(gone), reason="x"))
    request = writes.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(lost_said))
    await writer.stub.RedactObservation(request)

    found = {name: await gate(reader, fact_id(each)) for name, each in locals().items() if isinstance(each, Assertion)}

    assert found == {
        "old": retrieval.GATE_SUPERSEDED,
        "new": retrieval.GATE_UNSPECIFIED,
        "ended": retrieval.GATE_SUPERSEDED,
        "early": retrieval.GATE_SUPERSEDED,
        "wrong": retrieval.GATE_SUPERSEDED,
        "right": retrieval.GATE_UNSPECIFIED,
        "stale": retrieval.GATE_SUPERSEDED,
        "lost": retrieval.GATE_EVIDENCE_LOST,
        "gone": retrieval.GATE_STATUS,
    }


async def test_a_rule_of_another_agent(writer: Writer, reader: ReaderServiceStub) -> None:
    """RE-7, EN-7: it is of elsewhere."""
    rule = Rule(text="restart the gateway by night", scope=RuleScope.RULE_SCOPE_AGENT, holder="coder")
    record = MemoryRecord(summary="gateway rule", rule=rule)
    record.entity.key = "rule:1"
    await writer.record(observation("1", Assertion(record=record)))

    assert await gate(reader, "rule:1") == retrieval.GATE_APPLICABILITY


async def test_gates_of_the_compilation(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-7: floor, duplicate, budget; abstention is a floor that says so."""
    best = await seed.note("1", "The gateway was restarted after the memory leak")
    again = await seed.note("2", "the GATEWAY was restarted, after a memory leak!")
    long = await seed.note("3", "Gateway restarts " + "and again the memory leak of the gateway " * 60)
    far = await seed.note("4", "Lunch menu: soup, salad, cake")
    await embed_all(seed, bundled)
    full = {"mode": retrieval.SEARCH_MODE_FULL, "budget": retrieval.Budget(characters=400)}
    why = "Why was the gateway restarted?"
    ids = {name: f"chunk:{made}#0" for name, made in {"best": best, "again": again, "long": long, "far": far}.items()}

    found = {name: await gate(hybrid, item_id, why, **full) for name, item_id in ids.items()}
    nonsense = await gate(hybrid, ids["best"], "how to boil pasta", **full)

    assert {found.pop("best"), found.pop("again")} == {retrieval.GATE_UNSPECIFIED, retrieval.GATE_DUPLICATE}
    assert found == {"long": retrieval.GATE_BUDGET, "far": retrieval.GATE_FLOOR}
    assert nonsense == retrieval.GATE_FLOOR


async def test_what_is_beyond_the_cap(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-7: found by words, but behind as many others as a signal finds."""
    for number in range(210):
        await seed.note(str(number), f"gateway gateway note {number}")
    made = await seed.note("last", "gateway " + "filler " * 80)

    assert await gate(reader, f"chunk:{made}#0") == retrieval.GATE_CAP


async def test_a_mode_that_seeks_no_words(seed: Seed, hybrid: ReaderServiceStub) -> None:
    """RE-7: that it has the words is no reason to call it found."""
    made = await seed.note("1", "The gateway was restarted")

    assert await gate(hybrid, f"chunk:{made}#0", mode=retrieval.SEARCH_MODE_VECTOR) == retrieval.GATE_NOT_FOUND


async def test_what_no_signal_found(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-7: other words; unknown ids; what came after the compilation."""
    await seed.note("1", "The gateway was restarted")
    other = await seed.note("2", "Lunch menu")
    trace_id = (await compiled(reader, "gateway")).trace_id
    later = await seed.note("3", "gateway, later")

    answers = [await explained(reader, trace_id, each) for each in (f"chunk:{other}#0", "chunk:x#9", "fact-1", "#")]
    after = await explained(reader, trace_id, f"chunk:{later}#0")

    assert [each.gate for each in answers] == [retrieval.GATE_NOT_FOUND] * 4
    assert answers[0].explanation == "No signal found it."
    assert (after.gate, "after the compilation" in after.explanation) == (retrieval.GATE_NOT_FOUND, True)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await explained(reader, "pack-unknown", "fact-1")
    assert details_of(raised.value).metadata == {"kind": "trace"}


_SECONDS = itertools.count()


async def as_seen(database: Database, item_id: str, *, is_admin: bool) -> Explanation:
    """Why an item is out for a caller who holds no label."""
    retriever = Retriever(Store(database), EmbedderClient("", timeout_s=1, cached_queries=0), exact_scan_rows=1_000)
    context = ReadContext(Store(database), View(NAMESPACE, (), sees_all=False), timeout_s=30)
    request = pb.CompileContextRequest(namespace=NAMESPACE, query="gateway", mode=LEXICAL)
    compilation = await compile_context(context, retriever, to_query(request, limit=200), Wish(""))
    # Whatever is stored by then was stored before.
    trace = messages.to_trace(request, compilation, NOON.replace(year=2999) + timedelta(seconds=next(_SECONDS)))
    assert await TraceStore(database).leave(context.view, "alice", trace, timeout_s=30)
    return await explain(
        context,
        "alice",
        trace_id=trace.trace_id,
        item_id=item_id,
        is_admin=is_admin,
        traced_of=messages.to_traced_item,
        request_of=messages.to_request,
    )


@pytest.mark.parametrize("hidden", ["item", "evidence", "end", "chunk"])
async def test_visibility_is_told_to_administrators_only(writer: Writer, database: Database, hidden: str) -> None:
    """RE-7, AC-6: to others a hidden item is one that does not exist, word for word, and has no chain."""
    scopes = {name: ["role:few"] if name == hidden else [] for name in ("item", "evidence", "end", "chunk")}
    said = fact("service:gateway", "OWNED_BY", "team:red", scopes=scopes["item"])
    noted = observation("1", said, content="the gateway", scopes=scopes["evidence"] or scopes["chunk"])
    await writer.record_all(noted, observation("2", entity("team:red", title="Red", scopes=scopes["end"])))
    item_id = f"chunk:observation:{observation_id(noted)}#0" if hidden == "chunk" else fact_id(said)
    if hidden == "chunk":
        [row] = await writer.rows("SELECT owner_key FROM passages WHERE kind = 1")
        item_id = f"chunk:{row['owner_key']}#0"

    unknown = await as_seen(database, "fact-unknown", is_admin=False)
    to_others = await as_seen(database, item_id, is_admin=False)
    to_admin = await as_seen(database, item_id, is_admin=True)

    assert unknown == to_others == Explanation(Gate.NOT_FOUND, "There is no such item that the caller may see.")
    assert (to_admin.gate, to_admin.provenance) == (Gate.VISIBILITY, ())
