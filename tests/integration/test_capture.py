"""Conversations become observations: whose evidence they are, what is taken out, and what comes again."""

from __future__ import annotations

from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.error_reason_pb2 import ErrorReason
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.writer.capture.messages import rendered
from services.writer.capture.packs_told import PacksTold
from services.writer.mark_store import Operator
from shared.database import Database
from tests.integration.capturing import ALICE, BOB, allow, capture, message
from tests.integration.compiling import compiled
from tests.integration.writing import NAMESPACE, Writer, entity, fact, observation, writing

pytest_plugins = ("tests.integration.reader_fixtures",)


async def stored(writer: Writer, observation_id: str) -> dict[str, object]:
    return await writer.row("SELECT * FROM observations WHERE observation_id = $1", observation_id)


async def test_only_allowed_authors_become_evidence(writer: Writer) -> None:
    """CP-1: the others' words are stored as nobody's, and only their provenance tells who wrote them."""
    await allow(writer, ALICE)
    results = await capture(
        writer,
        message("1", "I like green tea", uri="https://chat/1"),
        message("2", "I like coffee", BOB),
        message("3", "I like milk", author=""),
        message("4", "I like water", bot=True),
        message("5", "I like juice", "agent:helper", bot=True),
    )
    rows = [await stored(writer, result.observation_id) for result in results]
    assert [row["actor_key"] for row in rows] == [ALICE, None, None, None, None]
    assert {row["kind"] for row in rows} == {"message"}
    said = [Observation.FromString(row["message"]).provenance for row in rows]  # type: ignore[arg-type]
    assert [each.author for each in said] == [ALICE, BOB, "", ALICE, "agent:helper"]
    assert said[0].uri == "https://chat/1"
    assert not any(result.queued or result.duplicate or result.HasField("error") for result in results)
    people = await writer.rows("SELECT natural_key FROM entities WHERE natural_key LIKE 'person:%'")
    assert [row["natural_key"] for row in people] == [ALICE]
    [passage] = await writer.rows("SELECT title FROM passages WHERE text = 'I like green tea'")
    assert passage["title"] == "[2026-08-01] alice:"


async def test_nobody_is_evidence_without_a_list(writer: Writer) -> None:
    """CP-1: an empty list allows nobody."""
    [result] = await capture(writer, message("1", "I like green tea"))
    assert (await stored(writer, result.observation_id))["actor_key"] is None


async def test_allowed_authors_are_queued_where_there_is_an_extractor(dsn: str) -> None:
    """CP-4, CP-5: with the observation, once."""
    async with writing(dsn, extraction={"url": "http://127.0.0.1:1/", "enabled": False}) as writer:
        await allow(writer, ALICE)
        turns = [message("1", "I like tea"), message("2", "I like it", BOB), message("3", "and I", bot=True)]
        assert [result.queued for result in await capture(writer, *turns)] == [True, False, False]
        again = await capture(writer, *turns)
        assert [(result.queued, result.duplicate) for result in again] == [(False, True)] * 3
        queue = await writer.rows("SELECT observation_id FROM extraction_queue")
        assert [row["observation_id"] for row in queue] == [again[0].observation_id]


async def test_messages_are_found_and_answer_each_other(writer: Writer, reader: ReaderServiceStub) -> None:
    """CP-1, DO-7: whichever comes first."""
    await allow(writer, ALICE, BOB)
    [answer] = await capture(writer, message("2", "On Wednesday", BOB, replies_to="1"))
    [question] = await capture(writer, message("1", "When are the quarterly reports due?"))
    found = await reader.Search(reads.SearchRequest(namespace=NAMESPACE, query="quarterly reports"))
    assert question.observation_id in {hit.item_id.partition("#")[0].removeprefix("chunk:") for hit in found.hits}
    links = await writer.rows("SELECT source_key, target_key FROM links WHERE relation = 'REPLIES_TO'")
    assert [tuple(row.values()) for row in links] == [(answer.observation_id, question.observation_id)]


async def test_what_the_memory_told_is_gone(writer: Writer, reader: ReaderServiceStub) -> None:
    """Fault 8, CP-2: a pack comes back reformatted and cut: nothing of it is stored, and no fact gains from it."""
    await allow(writer, ALICE)
    works = fact("person:alice", "WORKS_ON", "project:alpha")
    await writer.record(
        observation("1", works, entity("project:alpha", title="Alpha"), content="Alice works on Alpha since May.")
    )
    pack = (await compiled(reader, "who works on Alpha?")).pack
    assert pack.items
    told = pack.rendered[: -len("</palimpsest-context>") - 9]
    quoted = "\n".join(f"> {line}" for line in told.replace("[", "【").replace("]", "】").split("\n"))
    before = await writer.rows("SELECT fact_id, observation_id FROM fact_evidence")

    [only, beside] = await capture(writer, message("1", quoted), message("2", f"Thanks!\n{quoted}\n\nWhat about Bob?"))

    assert (only.empty, only.observation_id, only.stripped_blocks) == (True, "", 1)
    assert (await stored(writer, beside.observation_id))["content"] == "Thanks!\n\nWhat about Bob?"
    assert await writer.rows("SELECT fact_id, observation_id FROM fact_evidence") == before
    texts = [row["text"] for row in await writer.rows("SELECT text FROM passages")]
    assert sum("works on" in text.lower() for text in texts) == 2
    health = await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))
    assert health.health.stripped == 2


async def test_what_people_say_themselves_is_kept(writer: Writer, reader: ReaderServiceStub) -> None:
    """CP-2: the words of an item, without how a pack shows it, are evidence like any other."""
    await allow(writer, ALICE)
    await writer.record(observation("1", content="Alice works on Alpha since May of last year."))
    assert (await compiled(reader, "who works on Alpha?")).pack.items
    [result] = await capture(writer, message("1", "Alice works on Alpha since May of last year."))
    assert (result.stripped_blocks, result.empty) == (0, False)


async def test_secrets_are_scrubbed_before_anything_is_stored(writer: Writer, reader: ReaderServiceStub) -> None:
    """CP-3: they are in no row, counted, and the same message comes again as the same."""
    await allow(writer, ALICE)
    text = "the key is AKIAIOSFODNN7EXAMPLE and password: hunter2hunter2"
    [first] = await capture(writer, message("1", text))
    [again] = await capture(writer, message("1", text))
    assert (first.scrubbed_secrets, again.duplicate, again.observation_id) == (2, True, first.observation_id)
    row = await stored(writer, first.observation_id)
    assert row["content"] == "the key is [secret:awskey] and password: [secret:password]"
    tables = await writer.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for table in tables:
        for secret in ("AKIAIOSFODNN7", "hunter2"):
            assert not await writer.rows(
                f'SELECT FROM "{table["tablename"]}" AS t WHERE t::text ILIKE $1', f"%{secret}%"
            )
    counted = await writer.rows("SELECT what, number FROM stripped ORDER BY what")
    assert [tuple(each.values()) for each in counted] == [("secret:awskey", 1), ("secret:password", 1)]
    health = await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))
    assert health.health.stripped == 2


async def test_a_message_is_known_again_whatever_is_decided_by_then(writer: Writer, reader: ReaderServiceStub) -> None:
    """OB-3, CP-1: by its text as it was sent, though its author is allowed now and the pack in it is known."""
    await writer.record(observation("1", content="Alice works on Alpha since May of last year."))
    pack = (await compiled(reader, "who works on Alpha?")).pack
    text = f"I was told:\n{pack.rendered.split(chr(10))[1]}\nand doubt it"
    await writer.rows("UPDATE context_traces SET namespace = 'elsewhere'")
    [first] = await capture(writer, message("1", text))
    assert first.stripped_blocks == 0
    await writer.rows("UPDATE context_traces SET namespace = $1", NAMESPACE)
    await allow(writer, ALICE)
    [again] = await capture(writer, message("1", text))
    assert (again.observation_id, again.duplicate) == (first.observation_id, True)
    [other] = await capture(writer, message("1", "another text"))
    assert other.error.reason == ErrorReason.ERROR_REASON_OBSERVATION_CONFLICT
    assert (await stored(writer, first.observation_id))["content"] == text


async def test_a_bad_message_fails_no_neighbour(writer: Writer) -> None:
    """OB-6, OP-2: each with the path of its field."""
    results = await capture(
        writer,
        message("1", "fine"),
        message("", "no id"),
        message("3", "a\0b"),
        message("4", " \n\u200b"),
        message("1", "fine"),
        message("6", "fine", replies_to="6"),
        message("\x01", "an id that cannot be"),
        message("8", "p=1\npassword: a1b2c3\n" * 47_000),
    )
    assert [result.error.code for result in results] == [0, 3, 3, 0, 0, 0, 3, 3]
    assert [each.error.violations[0].field for each in results[6:]] == ["messages[6].message_id", "messages[7].text"]
    assert results[1].error.violations[0].field == "messages[1].message_id"
    assert results[2].error.violations[0].field == "messages[2].text"
    assert [result.empty for result in results[:6]] == [False, False, False, True, False, False]
    assert [result.duplicate for result in results[:6]] == [False, False, False, False, True, False]
    health = await writer.rows("SELECT reason, number FROM rejections ORDER BY reason")
    assert [tuple(row.values()) for row in health] == [("INVALID_FIELD", 3), ("INVALID_TEXT", 1)]


async def test_labels_of_a_conversation_hide_its_messages(writer: Writer) -> None:
    """AC-2: as of any observation."""
    [result] = await capture(writer, message("1", "between us"), scopes=["workspace:core"])
    assert (await stored(writer, result.observation_id))["restricting"] == ["workspace:core"]


async def test_a_redacted_message_does_not_come_back(writer: Writer) -> None:
    """AU-2: a redelivery changes nothing."""
    [result] = await capture(writer, message("1", "take this back"))
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=result.observation_id, reason="asked")
    await writer.stub.RedactObservation(request)
    [again] = await capture(writer, message("1", "take this back"))
    assert again.duplicate
    assert (await stored(writer, result.observation_id))["content"] == ""


async def test_nobody_learns_what_others_were_told(
    writer: Writer, reader: ReaderServiceStub, database: Database
) -> None:
    """NS-1, AC-6: only packs that the caller might have been told are compared with."""
    await writer.record(observation("1", content="Alice works on Alpha since May.", scopes=["role:core"]))
    assert (await compiled(reader, "who works on Alpha?")).pack.items
    told = PacksTold(rendered)
    for granted, labels, sees_all, number in (
        (["role:core"], ["role:core", "role:other"], False, 1),
        (["role:core"], ["role:other"], False, 0),
        ([], [], False, 1),
        ([], [], True, 1),
    ):
        await writer.rows("UPDATE context_traces SET sees_all = false, granted = $1", granted)
        async with database.connection(10) as connection:
            caller = Operator("somebody", labels, sees_all)
            packs = await told.for_caller(connection, NAMESPACE, caller, ())
            assert len(packs.packs) == number
