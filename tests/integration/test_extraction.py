"""Captured messages become facts: what is accepted, what is refused, and what outages and crashes do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.reference_pb2 import Permissions

from services.writer.applier import Applier
from services.writer.extraction.endpoint import Endpoint
from services.writer.extraction.extracting import READING
from services.writer.extraction.loop import End, ExtractionLoop, State
from services.writer.extraction.store import ExtractionStore
from services.writer.messages import assertion_count
from services.writer.settings import ExtractionSettings
from shared.database import Database
from shared.telemetry import registry
from tests.integration.capturing import ALICE, allow, capture, message
from tests.integration.extractor_stub import Reply, Stub, proposed, proposing, saying, stub_serving
from tests.integration.writing import NAMESPACE, Writer, fact, observation, writing

pytest_plugins = ("tests.integration.reader_fixtures",)

SAID = "Для проекта Альфа решили запускать отчёты по понедельникам, следит Иван."
QUOTE = "решили запускать отчеты по понедельникам"
RUNS = proposed("Альфа", "REPORTS_ON", "по понедельникам", QUOTE, object_is_entity=False)
WATCHES = proposed("Иван", "WATCHES", "Альфа", "следит Иван")
NO_JSON = "the answer is no JSON of the form that was asked for"


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with stub_serving() as serving:
        yield serving


@pytest.fixture
async def queuing(dsn: str, stub: Stub) -> AsyncIterator[Writer]:
    """A writer that queues for an extractor, and leaves the loop to the test."""
    async with writing(dsn, extraction={"url": stub.url, "enabled": False}) as writer:
        await allow(writer, ALICE)
        yield writer


class Loops:
    """Loops over the test's database, and the connections that they have to the endpoint."""

    def __init__(self, database: Database, stub: Stub) -> None:
        self._database, self._stub = database, stub
        self.endpoints: list[Endpoint] = []

    def made(self, **settings: Any) -> ExtractionLoop:
        given = {"model": "m1", "first_backoff_s": 0.001, "longest_backoff_s": 0.002, "most_attempts": 3}
        made = ExtractionSettings(**({"url": self._stub.url} | given | settings))
        self.endpoints.append(Endpoint(made))
        applier = Applier(self._database, assertion_count)
        return ExtractionLoop(self._database, applier, self.endpoints[-1], READING, made)


@pytest.fixture
async def loops(database: Database, stub: Stub) -> AsyncIterator[Loops]:
    made = Loops(database, stub)
    yield made
    for endpoint in made.endpoints:
        await endpoint.close()


async def queue(writer: Writer) -> list[dict[str, Any]]:
    return await writer.rows("SELECT attempts, dead, last_error FROM extraction_queue ORDER BY observation_id")


async def due(writer: Writer) -> None:
    """Whatever was put off is due now."""
    await writer.rows("UPDATE extraction_queue SET leased_until = '-infinity'")


async def facts(writer: Writer) -> list[dict[str, Any]]:
    return await writer.rows("SELECT * FROM facts ORDER BY predicate")


async def redact(writer: Writer, observation_id: str) -> None:
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id, reason="asked")
    await writer.stub.RedactObservation(request)


async def test_what_the_text_bears_out_becomes_a_fact(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """CP-4: INFERRED, with the quote's span, who extracted it, and the message that it comes from."""
    stub.answering = lambda text: proposing(
        RUNS,
        WATCHES | {"confidence": 0.9, "valid_from": "2026-08-01T00:00:00+03:00"},
        entities=[{"name": "Иван", "kind": "person", "quote": "следит Иван"}],
    )
    [result] = await capture(queuing, message("1", SAID, uri="https://chat/1"))

    done = await loops.made().run_once()

    assert (done.state, done.ends) == (State.WORKED, (End.EXTRACTED,))
    assert registry.get_sample_value("palimpsest_extracted_facts_total")
    assert registry.get_sample_value("palimpsest_extractions_total", {"end": "extracted"})
    assert await queue(queuing) == []
    runs, watches = await facts(queuing)
    assert (runs["subject_key"], runs["evidence"], runs["confidence"]) == ("Альфа", 2, 0.7)
    assert (watches["subject_key"], watches["object_key"], watches["confidence"]) == ("person:Иван", "Альфа", 0.9)
    assert watches["valid_from"].isoformat() == "2026-07-31T21:00:00+00:00"
    row = await queuing.row("SELECT * FROM observations WHERE kind = 'extraction'")
    assert (row["source_system"], row["source_stream"], row["actor_key"]) == ("chat", "room", ALICE)
    assert b"m1" in row["message"]
    assert b"https://chat/1" in row["message"]
    kept = json.loads(row["data"])
    assert kept["source_observation_id"] == result.observation_id
    [_, first, _] = kept["quotes"]
    assert SAID[first["start"] : first["end"]] == "решили запускать отчёты по понедельникам"
    assert SAID in stub.texts[0]
    assert "alice" in stub.texts[0]
    assert stub.asked[0]["response_format"]["type"] == "json_schema"


async def test_what_it_does_not_is_refused_and_counted(
    queuing: Writer, loops: Loops, stub: Stub, reader: ReaderServiceStub
) -> None:
    """CP-4: invented quotes, unknown ends, and what is no fact at all; good ones beside them are kept."""
    stub.answering = lambda text: proposing(
        RUNS,
        proposed("Альфа", "IS", "Бета", "проекта Альфа решили"),
        proposed("Альфа", "COSTS", "5", "стоит пять миллионов", object_is_entity=False),
        {"subject": "Альфа"},
        "nonsense",
        entities=[{"name": "Гамма", "kind": "project", "quote": "проекта Гамма"}],
    )
    await capture(queuing, message("1", SAID))
    assert (await loops.made().run_once()).ends == (End.EXTRACTED,)
    assert [row["predicate"] for row in await facts(queuing)] == ["REPORTS_ON"]
    health = await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))
    assert dict(health.health.rejected) == {"UNGROUNDED_QUOTE": 2, "UNKNOWN_END": 1, "INVALID_FIELD": 2}
    assert registry.get_sample_value("palimpsest_refused_proposals_total", {"reason": "UNGROUNDED_QUOTE"})


async def test_what_roles_guard_is_not_an_extractor_s_to_change(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """AC-5, CP-4: a fact that only leads may change gains no evidence from a message; its neighbour is stored."""
    leads = Permissions(write_roles=["lead"])
    await queuing.record(observation("guard", fact("Альфа", "WATCHED_BY", "person:Иван"), permissions=leads))
    stub.answering = lambda text: proposing(
        RUNS,
        proposed("Альфа", "WATCHED_BY", "Иван", "следит Иван"),
        entities=[{"name": "Иван", "kind": "person", "quote": "следит Иван"}],
    )
    await capture(queuing, message("1", SAID))
    assert (await loops.made().run_once()).ends == (End.EXTRACTED,)
    watched = await queuing.rows(
        "SELECT count(*) FROM facts JOIN fact_evidence USING (namespace, fact_id) GROUP BY predicate ORDER BY predicate"
    )
    assert [row["predicate"] for row in await facts(queuing)] == ["REPORTS_ON", "WATCHED_BY"]
    assert [row["count"] for row in watched] == [1, 1]


async def test_a_message_without_facts_is_done(queuing: Writer, loops: Loops) -> None:
    """CP-5: it is asked about once."""
    await capture(queuing, message("1", SAID))
    loop = loops.made()
    assert (await loop.run_once()).ends == (End.NOTHING,)
    assert (await loop.run_once()).ends == ()
    assert await facts(queuing) == []


# By the word that a message begins with.
FAULTS = {
    "status": (Reply(b"oops", status=500), "the endpoint answers 500"),
    "refusal": (Reply(b"too much", status=400), "the endpoint answers 400"),
    "html": (Reply(b"<html>"), NO_JSON),
    "prose": (saying("Sure! Here are the facts."), NO_JSON),
    "shape": (saying('{"facts": 7}'), NO_JSON),
    "depth": (saying("[" * 100_000), NO_JSON),
    "size": (Reply(b" " * 10 * 1024 * 1024), "the answer is too long"),
    "cut": (Reply(b"{", is_cut=True), "the connection broke"),
}


async def test_what_goes_wrong_with_a_message(
    queuing: Writer, loops: Loops, stub: Stub, reader: ReaderServiceStub
) -> None:
    """CP-5: it is tried again, later each time, and given up; nothing of it is told; somebody can put it back."""
    stub.answering = lambda text: next(reply for word, (reply, _) in FAULTS.items() if f"\n{word}: " in text)
    results = await capture(queuing, *(message(word, f"{word}: {SAID}") for word in FAULTS))
    loop = loops.made(concurrency=16)
    for end in (End.FAILED, End.FAILED, End.DEAD):
        assert (await loop.run_once()).ends == (end,) * len(FAULTS)
        await due(queuing)
    assert (await loop.run_once()).ends == ()
    assert registry.get_sample_value("palimpsest_extraction_dead_letters") == len(FAULTS)

    asked = reads.GetExtractionQueueRequest(namespace=NAMESPACE)
    told = (await reader.GetExtractionQueue(asked)).queue
    assert (told.depth, told.dead_letters) == (0, len(FAULTS))
    words = [what for _, what in FAULTS.values()]
    assert dict(told.dead_letter_errors) == dict(zip((each.observation_id for each in results), words, strict=True))
    health = (await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))).health
    assert (health.dead_letters, list(health.extraction_backlog)) == (len(FAULTS), [])
    assert dict(health.rejected) == {"INVALID_JSON": 3 * words.count(NO_JSON)}

    stub.answering = lambda text: proposing(RUNS)
    one = pb.RetryExtractionRequest(namespace=NAMESPACE, observation_ids=[results[0].observation_id])
    assert [(await queuing.stub.RetryExtraction(one)).requeued for _ in range(2)] == [1, 0]
    rest = pb.RetryExtractionRequest(namespace=NAMESPACE)
    assert [(await queuing.stub.RetryExtraction(rest)).requeued for _ in range(2)] == [len(FAULTS) - 1, 0]
    assert (await loop.run_once()).ends == (End.EXTRACTED,) * len(FAULTS)
    assert len(await facts(queuing)) == 1


async def test_an_extractor_that_does_not_answer(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """CP-5: a call as a whole has its time, however slowly its answer comes."""
    stub.answering = lambda text: Reply(is_silent=True)
    await capture(queuing, message("1", SAID))
    assert (await loops.made(call_timeout_s=0.2).run_once()).ends == (End.FAILED,)
    assert await queue(queuing) == [{"attempts": 1, "dead": False, "last_error": "no answer in time"}]


async def test_an_outage_is_no_message_s_fault(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """CP-5: however long it lasts nothing is given up, and the extractor's wish to wait is heard."""
    await capture(queuing, message("1", SAID), message("2", SAID))
    loop = loops.made()
    for status in (401, 404, 429, 502, 503):
        reply = Reply(b"later", status=status, headers={"Retry-After": "7"})
        stub.answering = lambda text, reply=reply: reply  # type: ignore[misc]
        done = await loop.run_once()
        assert (done.state, done.retry_after_s) == (State.EXTRACTOR_UNAVAILABLE, 7.0)
        assert done.ends == (End.UNAVAILABLE, End.UNAVAILABLE)
        assert (await loop.run_once()).ends == ()
        await due(queuing)
    waiting = await queue(queuing)
    assert [(row["attempts"], row["dead"]) for row in waiting] == [(0, False)] * 2
    stub.answering = lambda text: proposing(RUNS)
    assert (await loop.run_once()).ends == (End.EXTRACTED, End.EXTRACTED)
    [found] = await facts(queuing)
    evidence = await queuing.rows("SELECT FROM fact_evidence WHERE fact_id = $1", found["fact_id"])
    assert len(evidence) == 2


async def test_an_endpoint_that_is_not_there(queuing: Writer, loops: Loops, stub: Stub, tmp_path: Any) -> None:
    """CP-5: nor one whose key cannot be read; the key is read anew each time."""
    await capture(queuing, message("1", SAID))
    assert (await loops.made(url="http://127.0.0.1:1/").run_once()).ends == (End.UNAVAILABLE,)
    await due(queuing)
    key = tmp_path / "key"
    guarded = loops.made(api_key_file=key)
    assert (await guarded.run_once()).ends == (End.UNAVAILABLE,)
    await due(queuing)
    key.write_text("abc\n")
    assert (await guarded.run_once()).ends == (End.NOTHING,)
    assert "authorization: bearer abc" in stub.headers[0].lower()


async def test_a_lease_that_ended_keeps_no_result(
    queuing: Writer, loops: Loops, stub: Stub, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CP-5: while a writer is held up, another takes its message: there is one result, even if the first comes back."""
    entered, released = asyncio.Event(), asyncio.Event()
    slow = loops.made()
    answer = loops.endpoints[0].answer

    async def held(*arguments: str) -> bytes:
        body = await answer(*arguments)
        entered.set()
        await released.wait()
        return body

    monkeypatch.setattr(loops.endpoints[0], "answer", held)
    stub.answering = lambda text: proposing(RUNS)
    await capture(queuing, message("1", SAID))
    first = asyncio.create_task(slow.run_once())
    await entered.wait()
    assert (await loops.made().run_once()).ends == ()
    await due(queuing)
    async with database.connection(10) as connection:
        [(other, _)] = await ExtractionStore(connection).claim(1, 300)
    released.set()
    assert (await first).ends == (End.LOST,)
    assert await facts(queuing) == []
    assert len(await queue(queuing)) == 1
    assert other.number == 2
    await due(queuing)
    stub.answering = lambda text: proposing(RUNS, WATCHES)
    assert (await loops.made().run_once()).ends == (End.EXTRACTED,)
    assert len(await queuing.rows("SELECT FROM observations WHERE kind = 'extraction'")) == 1
    assert [row["predicate"] for row in await facts(queuing)] == ["REPORTS_ON", "WATCHES"]


async def test_a_result_that_is_there_already_stays(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """CP-5: whoever extracts again, as after a restored backup, finds the result of the first; the wait ends."""
    stub.answering = lambda text: proposing(RUNS)
    [result] = await capture(queuing, message("1", SAID))
    await loops.made().run_once()
    await queuing.rows(
        "INSERT INTO extraction_queue (namespace, observation_id) VALUES ($1, $2)", NAMESPACE, result.observation_id
    )
    stub.answering = lambda text: proposing(WATCHES)
    assert (await loops.made().run_once()).ends == (End.EXTRACTED,)
    assert await queue(queuing) == []
    assert [row["predicate"] for row in await facts(queuing)] == ["REPORTS_ON"]


async def test_a_cancelled_writer_loses_nothing(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """CP-5: killed while the extractor thinks: the message waits until there is a result, then no more."""
    entered = asyncio.Event()

    def answering(text: str) -> Reply:
        entered.set()
        return Reply(is_silent=True)

    stub.answering = answering
    await capture(queuing, message("1", SAID))
    killed = asyncio.create_task(loops.made().run_once())
    await entered.wait()
    killed.cancel()
    await asyncio.wait([killed])
    assert len(await queue(queuing)) == 1
    await due(queuing)
    stub.answering = lambda text: proposing(RUNS)
    assert (await loops.made().run_once()).ends == (End.EXTRACTED,)
    assert await queue(queuing) == []


async def test_what_was_redacted_meanwhile_gives_nothing(
    queuing: Writer, loops: Loops, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AU-2: an answer that comes too late is not kept."""
    [result] = await capture(queuing, message("1", SAID))
    loop = loops.made()
    answer = loops.endpoints[0].answer

    async def redacting(*arguments: str) -> bytes:
        await redact(queuing, result.observation_id)
        return await answer(*arguments)

    monkeypatch.setattr(loops.endpoints[0], "answer", redacting)
    stub.answering = lambda text: proposing(RUNS)
    assert (await loop.run_once()).ends == (End.LOST,)
    assert await facts(queuing) == []
    assert await queuing.rows("SELECT FROM observations WHERE kind = 'extraction'") == []


async def test_redaction_takes_what_was_derived_along(queuing: Writer, loops: Loops, stub: Stub) -> None:
    """FA-8, AU-2: a fact that rests on the message alone loses its evidence; what others said stays."""
    await queuing.record(observation("other", fact("Альфа", "HAS", "дело"), system="tracker"))
    stub.answering = lambda text: proposing(RUNS)
    [result] = await capture(queuing, message("1", SAID))
    await loops.made().run_once()
    await redact(queuing, result.observation_id)
    states = {row["predicate"]: row["evidence_lost"] for row in await facts(queuing)}
    assert states == {"HAS": False, "REPORTS_ON": True}
    row = await queuing.row("SELECT content, data FROM observations WHERE kind = 'extraction'")
    assert (row["content"], row["data"]) == ("", None)
    for table in ("facts", "passages", "observations", "context_traces"):
        assert not await queuing.rows(f"SELECT FROM {table} AS t WHERE t::text LIKE '%запускать%'")


async def test_the_loop_of_a_running_writer(dsn: str, stub: Stub) -> None:
    """CP-5: it is woken by what is captured."""
    stub.answering = lambda text: proposing(RUNS)
    async with writing(dsn, extraction={"url": stub.url, "poll_s": 0.2}) as writer:
        await allow(writer, ALICE)
        [result] = await capture(writer, message("1", SAID))
        assert result.queued
        async with asyncio.timeout(60):
            while await queue(writer):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert len(await facts(writer)) == 1


async def test_the_queue_is_measured(queuing: Writer, loops: Loops) -> None:
    """OP-3, CP-5: how many messages wait, and how long the oldest one has, when some are claimed; then none."""
    await capture(queuing, message("1", SAID), message("2", SAID))
    await queuing.rows("UPDATE extraction_queue SET enqueued_at = now() - interval '2 hours'")
    loop = loops.made()
    await loop.run_once()
    assert registry.get_sample_value("palimpsest_extraction_queue_depth") == 2
    assert 7_200 <= (registry.get_sample_value("palimpsest_extraction_queue_age_seconds") or 0) < 10_000
    await loop.run_once()
    assert registry.get_sample_value("palimpsest_extraction_queue_depth") == 0
    assert registry.get_sample_value("palimpsest_extraction_queue_age_seconds") == 0


async def test_the_queue_is_told(queuing: Writer, reader: ReaderServiceStub) -> None:
    """CP-5, CU-2: depth and age; none where nothing is known of the namespace."""
    await capture(queuing, message("1", SAID), message("2", SAID))
    await queuing.rows("UPDATE extraction_queue SET enqueued_at = now() - interval '2 hours'")
    asked = reads.GetExtractionQueueRequest(namespace=NAMESPACE)
    told = (await reader.GetExtractionQueue(asked)).queue
    assert (told.depth, told.dead_letters) == (2, 0)
    assert 7_200 <= told.oldest_age_s < 10_000
    health = (await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))).health
    assert [(each.from_s, each.count) for each in health.extraction_backlog] == [(3_600, 2)]
    nothing = await reader.GetExtractionQueue(reads.GetExtractionQueueRequest(namespace="nowhere"))
    assert nothing.queue.depth == 0


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="LEASE"):
        ExtractionSettings(call_timeout_s=300.0, lease_s=300.0)
    with pytest.raises(ValueError, match="url"):
        ExtractionSettings(url="ftp://x")
