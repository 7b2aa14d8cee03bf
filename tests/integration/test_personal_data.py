"""PR-1, PR-2: personal data from the store to the wire: marked, masked, struck out of questions, audited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from itertools import permutations
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.entity_pb2 import Entity
from palimpsest.v1.fact_pb2 import FactObject, Literal
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import Budget, SearchHit

from tests.conftest import execute
from tests.integration.protecting import CLEARED, OUTSIDER, UNCLEARED, Services, as_, services, texts_of
from tests.integration.writing import (
    NAMESPACE,
    article,
    entity,
    fact,
    observation,
    observation_id,
    query,
)

PHONE, EMAIL = "+7 916 123-45-67", "ivan@example.com"


@pytest.fixture
async def running(dsn: str, tmp_path: Path) -> AsyncIterator[Services]:
    """Both services over the test's database; nothing is protected yet."""
    async with services(dsn, tmp_path) as made:
        yield made


async def get_entity(running: Services, key: str, token: str, **fields: Any) -> Entity:
    request = pb.GetEntityRequest(namespace=NAMESPACE, entity=EntityRef(key=key), **fields)
    return (await running.reader.GetEntity(request, **as_(token))).entity


async def search(running: Services, words: str, token: str = UNCLEARED, **fields: Any) -> list[SearchHit]:
    request = pb.SearchRequest(namespace=NAMESPACE, query=words, mode="SEARCH_MODE_LEXICAL", **fields)
    return list((await running.reader.Search(request, **as_(token))).hits)


async def events(running: Services) -> list[dict[str, Any]]:
    rows = await query(
        running.dsn,
        "SELECT actor, target, details, trace_id FROM audit_events WHERE action = 'pii_access' ORDER BY sequence",
    )
    return [{**row, "details": json.loads(row["details"])} for row in rows]


async def refusal(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value.code(), details_of(raised.value).reason


async def test_without_protection_everything_is_as_it_was(running: Services) -> None:
    """PR-1: off by default: nothing is masked, marked or audited, whoever asks."""
    await running.record(observation("1", entity("person:ivan", title=f"Иван {PHONE}"), content=f"тел. {PHONE}"))
    assert (await get_entity(running, "person:ivan", UNCLEARED)).title == f"Иван {PHONE}"
    assert not (await get_entity(running, "person:ivan", CLEARED)).pii_categories
    assert not await events(running)
    assert await search(running, "916 123-45-67")


async def test_entities_are_marked_by_what_was_found_and_declared(running: Services) -> None:
    """PR-1: in title, attributes, text, facts and key; what was declared beside it; nothing else is marked."""
    await running.protect()
    await running.record(
        observation(
            "1",
            entity("a", title=f"Позвонить {PHONE}"),
            entity("b", attributes='{"snils": "112-233-445 95"}', pii_categories=["fio"]),
            article("c", f"# Контакты\n\n{EMAIL}"),
            fact("d", "CARD", "5555 5555 5555 4444"),
            entity(f"person:{EMAIL}"),
            entity("e", title="v1.2.3"),
        )
    )
    marked = {key: list((await get_entity(running, key, CLEARED)).pii_categories) for key in "abcde"}
    assert marked == {"a": ["phone"], "b": ["fio", "snils"], "c": ["email"], "d": ["card"], "e": []}
    assert list((await get_entity(running, f"person:{EMAIL}", CLEARED)).pii_categories) == ["email"]


async def test_a_mark_goes_with_the_observation_that_told_it(running: Services) -> None:
    """PR-1, AU-2: whichever of two observations is redacted, what the other one says is marked still."""
    await running.protect()
    said = [
        observation("1", entity("a", title=f"тел. {PHONE}"), minutes=1),
        observation("2", entity("a", title=f"почта {EMAIL}"), minutes=2),
    ]
    await running.record(*said)
    assert list((await get_entity(running, "a", CLEARED)).pii_categories) == ["email", "phone"]
    request = writes.RedactObservationRequest(
        namespace=NAMESPACE, observation_id=observation_id(said[0]), reason="asked"
    )
    await running.writer.RedactObservation(request, **as_(CLEARED))
    assert list((await get_entity(running, "a", CLEARED)).pii_categories) == ["email"]


async def test_what_was_stored_before_is_marked_by_curation(running: Services) -> None:
    """PR-1: bounded, going on where it ended; again after the protection was off; at once masked all the same."""
    many = [observation(str(number), entity(f"a{number}", title=f"тел. {PHONE}")) for number in range(7)]
    await running.record(*many[:5])
    await running.protect()
    assert (await get_entity(running, "a0", UNCLEARED)).title == "тел. [phone]"
    assert not (await get_entity(running, "a0", CLEARED)).pii_categories
    counted = [await curate(running, max_items=3) for _ in range(40)]
    assert sum(counted) == 5
    assert max(counted) <= 3
    assert list((await get_entity(running, "a4", CLEARED)).pii_categories) == ["phone"]
    await running.protect(on=False)
    await running.record(*many[5:])
    await running.protect()
    assert sum([await curate(running, max_items=0) for _ in range(2)]) == 7
    assert list((await get_entity(running, "a6", CLEARED)).pii_categories) == ["phone"]


async def curate(running: Services, *, max_items: int) -> int:
    request = writes.RunCurationRequest(namespace=NAMESPACE, max_items=max_items)
    return int((await running.writer.RunCuration(request, **as_(CLEARED))).marked_personal)


async def test_who_is_cleared_is_in_the_audit_before_the_answer_leaves(running: Services) -> None:
    """PR-2: the answer waits for the event, as long as it takes; the event names what, not the values."""
    await running.protect()
    await running.record(observation("1", entity("person:ivan", title=f"Иван, {PHONE}, {PHONE}"), content="без всего"))
    blocker = await asyncpg.connect(running.dsn)
    try:
        await blocker.execute("BEGIN; SELECT pg_advisory_xact_lock(audit_lock('demo'))")
        call = asyncio.ensure_future(get_entity(running, "person:ivan", CLEARED))
        await until_waiting(running.dsn)
        assert not call.done()
        await blocker.execute("COMMIT")
        assert PHONE in (await call).title
    finally:
        await blocker.close()
    [event] = await events(running)
    assert event["actor"] == "cleared"
    assert event["target"] == "person:ivan"
    assert len(event["trace_id"]) == 32
    assert event["details"]["rpc"] == "/palimpsest.v1.ReaderService/GetEntity"
    assert event["details"]["categories"] == {"phone": 2}
    assert "9161234567" not in "".join(filter(str.isdigit, str(event))), "all digits: a few are in any time or hash"
    await get_entity(running, observation_id(observation("1", content="x")), CLEARED)
    assert len(await events(running)) == 1, "what holds none is not audited"


async def until_waiting(dsn: str) -> None:
    """Until somebody waits for an advisory lock of this database."""
    waiting = (
        "SELECT FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
        " WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()"
    )
    async with asyncio.timeout(20):
        while not await query(dsn, waiting):  # noqa: ASYNC110 - the database tells nobody of its locks
            await asyncio.sleep(0.02)


async def test_without_the_audit_nothing_leaves_unmasked(running: Services) -> None:
    """PR-2: an answer with personal data is refused; one without is not, and the uncleared get theirs, masked."""
    await running.protect()
    await running.record(observation("1", entity("a", title=PHONE), entity("b", title="без всего")))
    await execute(running.dsn, "ALTER FUNCTION append_audit(text, text, text, text, text, text) RENAME TO lost")
    refused = await refusal(get_entity(running, "a", CLEARED))
    assert refused == (grpc.StatusCode.UNAVAILABLE, "AUDIT_UNAVAILABLE")
    assert (await get_entity(running, "b", CLEARED)).title == "без всего"
    assert (await get_entity(running, "a", UNCLEARED)).title == "[phone]"


async def test_who_asks_for_a_value_does_not_learn_that_it_is_stored(running: Services) -> None:
    """PR-1: not by words, nor by a filter, nor by an object; the cleared find it."""
    await running.protect()
    await running.record(
        observation("1", article("note", f"Иван просил звонить {PHONE}", meta=f'{{"mail": "{EMAIL}"}}')),
        observation("2", fact("person:ivan", "MAIL", EMAIL)),
    )
    assert await search(running, EMAIL, CLEARED)
    assert not await search(running, f"{PHONE} {EMAIL}")
    assert [hit.chunk.text for hit in await search(running, "Иван просил")] == ["Иван просил звонить [phone]"]
    condition = {"meta": [{"key": "mail", "equals": EMAIL}]}
    assert await search(running, "просил", CLEARED, filter=condition)
    assert not await search(running, "просил", filter=condition)
    request = pb.ListFactsRequest(namespace=NAMESPACE, object=FactObject(literal=Literal(text=EMAIL)))
    assert (await running.reader.ListFacts(request, **as_(CLEARED))).facts
    assert not (await running.reader.ListFacts(request, **as_(UNCLEARED))).facts


async def test_a_key_that_the_request_names_comes_back(running: Services) -> None:
    """PR-1: who knows a key may use it, without the clearance too; other keys are told apart, not told."""
    await running.protect()
    ivan, anna = f"person:{EMAIL}", "person:anna@example.com"
    await running.record(observation("1", fact(ivan, "KNOWS", anna), entity(ivan, title=f"Почта {EMAIL}")))
    found = await get_entity(running, ivan, UNCLEARED)
    assert (found.natural_key, found.title) == (ivan, "Почта [email]")
    listed = await running.reader.ListFacts(pb.ListFactsRequest(namespace=NAMESPACE), **as_(UNCLEARED))
    [told] = listed.facts
    keys = {told.subject_key, told.object.entity.key}
    assert len(keys) == 2
    assert all(key.startswith("person:[email:") for key in keys)
    request = pb.ListEntitiesRequest(namespace=NAMESPACE, include_placeholders=True)
    again = await running.reader.ListEntities(request, **as_(UNCLEARED))
    assert keys == {each.natural_key for each in again.entities}, "the same in every answer"
    assert await refusal(get_entity(running, told.subject_key, UNCLEARED)) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")


async def test_keys_are_not_found_out_digit_by_digit(running: Services) -> None:
    """PR-1: a list by the beginning of keys goes by masked keys; tokens of pages tell no key."""
    await running.protect()
    keys = [f"person:+7916123456{digit}" for digit in range(3)]
    await running.record(observation("1", *(entity(key) for key in (*keys, "person:bob"))))

    async def listed(token: str, **fields: Any) -> pb.ListEntitiesResponse:
        request = pb.ListEntitiesRequest(namespace=NAMESPACE, **fields)
        return await running.reader.ListEntities(request, **as_(token))

    assert len((await listed(CLEARED, key_prefix="person:+7916")).entities) == 3
    assert not (await listed(UNCLEARED, key_prefix="person:+7916")).entities
    assert len((await listed(UNCLEARED, key_prefix="person:")).entities) == 4
    seen, page = [], await listed(UNCLEARED, page_size=1)
    while True:
        seen += [each.natural_key for each in page.entities]
        if not page.next_page_token:
            break
        page = await listed(UNCLEARED, page_size=1, page_token=page.next_page_token)
    assert len(set(seen)) == len(seen)
    assert {"person:bob"} < set(seen)
    open_token = (await listed(CLEARED, page_size=1)).next_page_token
    refused = await refusal(listed(UNCLEARED, page_size=1, page_token=open_token))
    assert refused == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN")


async def test_a_pack_keeps_its_budget_and_tells_its_length(running: Services) -> None:
    """PR-1, RE-6: masked after it was packed; what is kept of it is asked by Verify, whose quotes are masked too."""
    await running.protect()
    texts = [f"Гость {number} просил звонить 8 916 123-45-{number:02} утром" for number in range(30)]
    await running.record(*(observation(str(n), article(f"guest{n}", text)) for n, text in enumerate(texts)))
    request = pb.CompileContextRequest(
        namespace=NAMESPACE, query="гость просил звонить", budget=Budget(characters=900), mode="SEARCH_MODE_LEXICAL"
    )
    pack = (await running.reader.CompileContext(request, **as_(UNCLEARED))).pack
    assert pack.items
    assert pack.characters == len(pack.rendered) <= 900
    assert "[phone]" in pack.rendered
    assert "916 123" not in pack.rendered
    answer = "Гость 3 просил звонить 8 916 123-45-03 утром. Гость 3 просил звонить."
    said = pb.VerifyRequest(namespace=NAMESPACE, pack_id=pack.pack_id, answer=answer)
    sentences = (await running.reader.Verify(said, **as_(UNCLEARED))).sentences
    assert answer[sentences[0].start : sentences[0].end] == "Гость 3 просил звонить 8 916 123-45-03 утром."
    assert "916 123" not in "".join(text for each in sentences for text in texts_of(each))


async def test_names_that_are_declared_are_masked_wherever_they_stand(running: Services) -> None:
    """PR-1: in texts of the entity, in what others say of it, in packs; not where nobody declared it."""
    await running.protect()
    await running.record(
        observation("1", entity("person:ivan", title="Иван Преображенский", pii_categories=["fio"])),
        observation("2", article("person:ivan", "ИВАН ПРЕОБРАЖЕНСКИЙ чинит шлюз платежей")),
        observation("3", entity("gate", title="Шлюз")),
    )
    [hit] = await search(running, "чинит шлюз платежей", filter={"item_kinds": ["ITEM_KIND_CHUNK"]})
    assert hit.chunk.text == "[fio] чинит шлюз платежей"
    assert (await get_entity(running, "person:ivan", UNCLEARED)).title == "[fio]"
    [hit] = await search(running, "чинит шлюз платежей", CLEARED, filter={"item_kinds": ["ITEM_KIND_CHUNK"]})
    assert hit.chunk.text == "ИВАН ПРЕОБРАЖЕНСКИЙ чинит шлюз платежей"
    [event] = await events(running)
    assert event["details"]["categories"] == {"fio": 1}


async def test_answers_and_errors_of_the_writer_are_masked(running: Services) -> None:
    """PR-1: what matches more than once is told by masked keys; a stored thing comes back masked."""
    await running.protect()
    await running.record(
        observation("1", entity("person:ivan@example.com", title="Ivan"), entity("person:iv@example.com", title="Ivan"))
    )
    request = writes.MarkObsoleteRequest(namespace=NAMESPACE, exact_text="Ivan", reason="old")
    for token, is_masked in ((UNCLEARED, True), (CLEARED, False)):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await running.writer.MarkObsolete(request, **as_(token))
        assert details_of(raised.value).reason == "AMBIGUOUS_MATCH"
        raw = str(raised.value.trailing_metadata())
        assert ("@example.com" not in raw) is is_masked
        assert bool(await events(running)) is not is_masked, "errors that tell something are audited too"
    await execute(running.dsn, "ALTER FUNCTION append_audit(text, text, text, text, text, text) RENAME TO lost")
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await running.writer.MarkObsolete(request, **as_(CLEARED))
    assert "@example.com" not in str(raised.value.trailing_metadata())


async def test_a_stream_of_observations_is_answered(running: Services) -> None:
    """PR-1: the namespaces of a stream are those of its messages; keys come back as they were sent."""
    await running.protect()
    said = observation("1", entity(f"person:{EMAIL}", title=PHONE))

    async def requests() -> AsyncIterator[writes.StreamObservationsRequest]:
        yield writes.StreamObservationsRequest(namespace=NAMESPACE, sequence=1, observation=said)

    answers = [each async for each in running.writer.StreamObservations(requests(), **as_(UNCLEARED))]
    assert [each.result.recorded.observation_id for each in answers] == [observation_id(said)]


async def test_the_token_of_the_change_makes_it_act(dsn: str, tmp_path: Path) -> None:
    """PR-1, RE-12: a reader that remembers settings for an hour masks for a read that asks for the change."""
    async with services(dsn, tmp_path, protection_age_s=3_600) as running:
        await running.record(observation("1", entity("a", title=PHONE)))
        assert (await get_entity(running, "a", UNCLEARED)).title == PHONE
        token = await running.protect()
        assert (await get_entity(running, "a", UNCLEARED, consistency_token=token)).title == "[phone]"
        assert (await get_entity(running, "a", UNCLEARED)).title == "[phone]"


async def test_another_namespace_is_not_concerned(running: Services) -> None:
    """PR-1, NS-1: the protection is of one namespace."""
    await running.protect()
    await running.record(observation("1", entity("a", title=PHONE)), namespace="open")
    request = pb.GetEntityRequest(namespace="open", entity=EntityRef(key="a"))
    assert (await running.reader.GetEntity(request, **as_(UNCLEARED))).entity.title == PHONE


async def test_a_mark_tells_nothing_of_what_is_hidden(running: Services) -> None:
    """AC-6: categories that only a hidden observation tells are not shown to who may not see it."""
    await running.protect()
    await running.record(
        observation("1", entity("a", title="open")),
        observation("2", fact("a", "PHONE", PHONE), scopes=["role:board"]),
    )
    assert list((await get_entity(running, "a", CLEARED)).pii_categories) == ["phone"]
    assert not (await get_entity(running, "a", OUTSIDER)).pii_categories


async def test_a_source_comes_masked_whole(running: Services) -> None:
    """PR-1, DO-1: a long original, byte for byte but for what is masked; with the clearance every byte."""
    await running.protect()
    text = "Шлюз платежей обновляет сертификат.\n\n" * 3_000 + f"Звонить {PHONE}, писать {EMAIL}.\n"
    await running.record(observation("1", article("note", text)))
    request = pb.GetSourceRequest(namespace=NAMESPACE, entity=EntityRef(key="note"))
    masked = (await running.reader.GetSource(request, **as_(UNCLEARED))).text
    assert masked == text.replace(PHONE, "[phone]").replace(EMAIL, "[email]")
    assert (await running.reader.GetSource(request, **as_(CLEARED))).text == text


async def test_marks_are_free_of_the_order_of_arrival(running: Services) -> None:
    """PR-1, OB-7: whatever comes first, singly or in a batch, entities have the same marks."""
    said = [
        observation("1", entity("a", title=f"тел. {PHONE}"), minutes=3),
        observation("2", entity("a", title="без всего"), fact("b", "MAIL", EMAIL), minutes=1),
        observation("3", article("a", f"СНИЛС 112-233-445 95, {EMAIL}"), entity("b", title="b"), minutes=2),
    ]
    marks = []
    for number, order in enumerate(permutations(said)):
        namespace = f"order-{number}"
        await running.protect(namespace=namespace)
        if number % 2:
            await running.record(*order, namespace=namespace)
        else:
            for one in order:
                await running.record(one, namespace=namespace)
        request = pb.ListEntitiesRequest(namespace=namespace)
        listed = (await running.reader.ListEntities(request, **as_(CLEARED))).entities
        marks.append([(each.natural_key, list(each.pii_categories)) for each in listed])
    assert marks == [[("a", ["email", "phone", "snils"]), ("b", ["email"])]] * 6
