"""PR-1, PR-2, RE-13: a stream tells personal data to whom it is cleared for, after its audit; to others masked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.entity_pb2 import Entity
from palimpsest.v1.governance_pb2 import ErasureSelector
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reference_pb2 import TypedId
from palimpsest.v1.retrieval_pb2 import ItemKind

from tests.conftest import execute
from tests.integration.protecting import CLEARED, UNCLEARED, Services, as_, services, texts_of
from tests.integration.test_personal_data import events, get_entity, until_waiting
from tests.integration.watching import Watcher, failure, watch
from tests.integration.writing import NAMESPACE, entity, fact, fact_id, observation, observation_id
from tests.unit.granting import entry, grants

PHONE, EMAIL, NAME = "+7 916 123-45-67", "ivan@example.com", "Иван Преображенский"
PLANTED = (PHONE, EMAIL, NAME)
WATCH = "/palimpsest.v1.ReaderService/Watch"
PHONE_IS = fact("thing:desk", "PHONE", PHONE)


@pytest.fixture
async def running(dsn: str, tmp_path: Path) -> AsyncIterator[Services]:
    """Both services over the test's database; nothing is protected yet."""
    async with services(dsn, tmp_path, watch_recheck_s=0.05) as made:
        yield made


def said() -> Observation:
    """Each kind of thing with something personal in it."""
    return observation("1", entity("thing:desk", title=f"Почта {EMAIL}"), PHONE_IS, content=f"Звонить {PHONE}")


def planted_in(watcher: Watcher) -> set[str]:
    """What was told of that which nobody should be told unmasked."""
    told = [text for change in watcher.changes for text in texts_of(change)]
    return {value for value in PLANTED if any(value in text for text in told)}


async def test_each_thing_is_masked_for_whom_it_is_not_cleared(running: Services) -> None:
    """PR-1: an observation, an entity and a fact; with the clearance all of it, and then it is in the audit."""
    await running.protect()
    uncleared = await watch(running.reader, UNCLEARED)
    await running.record(said())
    whole = [observation_id(said()), "thing:desk", fact_id(PHONE_IS)]
    await uncleared.until_seen(*whole)
    assert uncleared.things[whole[0]].observation.content == "Звонить [phone]"
    assert uncleared.things[whole[1]].title == "Почта [email]"
    assert uncleared.things[whole[2]].object.literal.text == "[phone]"
    assert "[phone]" in uncleared.things[whole[2]].sentence
    assert not planted_in(uncleared)
    assert not await events(running), "nothing left unmasked"
    since = uncleared.changes[0].committed_at
    cleared = await (await watch(running.reader, CLEARED, since=since)).until_seen(*whole)
    assert cleared.things[whole[0]].observation.content == f"Звонить {PHONE}"
    assert cleared.things[whole[1]].title == f"Почта {EMAIL}"
    assert cleared.things[whole[2]].object.literal.text == PHONE
    audited = await events(running)
    assert {(each["actor"], each["details"]["rpc"]) for each in audited} == {("cleared", WATCH)}
    assert set(whole) <= {thing for each in audited for thing in each["details"]["things"]}
    assert {kind for each in audited for kind in each["details"]["categories"]} == {"email", "phone"}
    assert not [value for value in PLANTED if value in str(audited)]
    await asyncio.gather(uncleared.stop(), cleared.stop())


async def test_names_that_are_declared_are_masked_in_what_comes_later(running: Services) -> None:
    """PR-1: in a fact of an entity whose name was declared before anybody watched, and is not in the message."""
    await running.protect()
    await running.record(observation("1", entity("person:1", title=NAME, pii_categories=["fio"])))
    facts = [ItemKind.ITEM_KIND_FACT]
    uncleared = await watch(running.reader, UNCLEARED, item_kinds=facts)
    cleared = await watch(running.reader, CLEARED, item_kinds=facts)
    signs = fact("person:1", "SIGNS_AS", NAME.upper())
    await running.record(observation("2", signs, minutes=1))
    await asyncio.gather(uncleared.until_seen(fact_id(signs)), cleared.until_seen(fact_id(signs)))
    assert uncleared.things[fact_id(signs)].object.literal.text == "[fio]"
    assert cleared.things[fact_id(signs)].object.literal.text == NAME.upper()
    assert [each["details"]["categories"].keys() for each in await events(running)] == [{"fio"}]
    await asyncio.gather(uncleared.stop(), cleared.stop())


async def test_a_masked_key_is_the_same_in_all_that_is_told_of_it(running: Services) -> None:
    """PR-1: in the id of the change, in the thing, at the end of a fact, in a later stream, and when it is removed."""
    await running.protect()
    here: dict[str, Any] = {"scopes": ["project:here"]}
    uncleared = await watch(running.reader, UNCLEARED, **here)
    key, knows = f"person:{EMAIL}", fact("thing:desk", "IS_OF", f"person:{EMAIL}")
    await running.record(observation("1", entity(key, **here), knows))
    await uncleared.until_seen(fact_id(knows))
    masked = uncleared.things[fact_id(knows)].object.entity.key
    assert masked.startswith("person:[email:")
    assert uncleared.things[masked].natural_key == masked
    await uncleared.stop()
    await running.record(observation("2", entity(key, scopes=["project:there"]), minutes=1))
    resumed = await watch(running.reader, UNCLEARED, cursor=uncleared.cursor, **here)
    await resumed.until(lambda seen: ("REMOVED", masked) in seen.told())
    assert not planted_in(uncleared) | planted_in(resumed)
    await resumed.stop()


async def test_the_hash_of_an_erased_key_is_for_the_cleared(running: Services) -> None:
    """PR-1: keys with personal data are soon found by their hashes; that one was removed is told to all."""
    await running.protect()
    await running.record(observation("1", entity(f"person:{EMAIL}")))
    uncleared, cleared = await watch(running.reader, UNCLEARED), await watch(running.reader, CLEARED)
    subject = ErasureSelector(subject=TypedId(type="person", id=EMAIL))
    await running.writer.Purge(writes.PurgeRequest(namespace=NAMESPACE, selector=subject, reason="r"), **as_(CLEARED))
    hashed = sha256(f"person:{EMAIL}".encode()).hexdigest()
    await cleared.until(lambda seen: ("REMOVED", hashed) in seen.told())
    await uncleared.until(lambda seen: ("REMOVED", "") in seen.told())
    assert hashed not in [text for change in uncleared.changes for text in texts_of(change)]
    await asyncio.gather(uncleared.stop(), cleared.stop())


async def test_nothing_leaves_before_its_audit_event_is_there(running: Services) -> None:
    """PR-2: the stream waits for the event, as long as it takes; other streams do not."""
    await running.protect()
    uncleared, cleared = await watch(running.reader, UNCLEARED), await watch(running.reader, CLEARED)
    blocker = await asyncpg.connect(running.dsn)
    try:
        await blocker.execute("BEGIN; SELECT pg_advisory_xact_lock(audit_lock('demo'))")
        reading = asyncio.ensure_future(cleared.until_seen(fact_id(PHONE_IS)))
        await running.record(said())
        await until_waiting(running.dsn)
        await uncleared.until_seen(fact_id(PHONE_IS))
        assert not planted_in(cleared)
        assert not await events(running)
        await blocker.execute("COMMIT")
        await reading
    finally:
        await blocker.close()
    assert planted_in(cleared) == {PHONE, EMAIL}
    assert fact_id(PHONE_IS) in [thing for each in await events(running) for thing in each["details"]["things"]]
    await asyncio.gather(uncleared.stop(), cleared.stop())


async def test_without_the_audit_a_stream_ends_and_is_resumed(running: Services) -> None:
    """PR-2, RE-13: nothing personal was told; by the cursor all of it comes once there is an audit again."""
    await running.protect()
    uncleared, cleared = await watch(running.reader, UNCLEARED), await watch(running.reader, CLEARED)
    signature = "append_audit(text, text, text, text, text, text)"
    await execute(running.dsn, f"ALTER FUNCTION {signature} RENAME TO lost")
    await running.record(said())
    error = await failure(cleared.call)
    assert (error.code(), details_of(error).reason) == (grpc.StatusCode.UNAVAILABLE, "AUDIT_UNAVAILABLE")
    await uncleared.until_seen(fact_id(PHONE_IS))
    await execute(running.dsn, f"ALTER FUNCTION {signature.replace('append_audit', 'lost')} RENAME TO append_audit")
    resumed = await watch(running.reader, CLEARED, cursor=cleared.cursor)
    await resumed.until_seen(observation_id(said()), "thing:desk", fact_id(PHONE_IS))
    assert planted_in(resumed) == {PHONE, EMAIL}
    await asyncio.gather(uncleared.stop(), resumed.stop())


async def told_title(running: Services, watcher: Watcher, number: int) -> str:
    """What a stream tells of an entity that is recorded now, and has a telephone number for a title."""
    key = f"thing:{number}"
    await running.record(observation(str(number), entity(key, title=PHONE)))
    found: Entity = (await watcher.until_seen(key)).things[key]
    return found.title


async def test_protection_acts_on_streams_that_have_begun(running: Services) -> None:
    """PR-1: what is told after it was switched on is masked, or audited."""
    uncleared, cleared = await watch(running.reader, UNCLEARED), await watch(running.reader, CLEARED)
    assert await told_title(running, uncleared, 1) == PHONE
    await cleared.until_seen("thing:1")
    assert not await events(running)
    await running.protect()
    assert await told_title(running, uncleared, 2) == "[phone]"
    await cleared.until_seen("thing:2")
    assert cleared.things["thing:2"].title == PHONE
    holders = {observation_id(observation("2")), "thing:2"}
    assert {thing for each in await events(running) for thing in each["details"]["things"]} == holders
    await asyncio.gather(uncleared.stop(), cleared.stop())


async def test_a_clearance_that_is_taken_away_ends_what_it_allowed(running: Services, tmp_path: Path) -> None:
    """PR-1, RE-13: in a stream that had begun: within seconds, and nothing unmasked is told after that."""
    await running.protect()
    cleared = await watch(running.reader, CLEARED)
    assert await told_title(running, cleared, 0) == PHONE
    allowed = [{"namespaces": ["*"], "permissions": ["read", "write", "admin"]}]
    changed = grants(entry("cleared", CLEARED, grants=allowed, sees_all=True))
    await asyncio.to_thread((tmp_path / "grants.json").write_bytes, changed)
    number = 1
    async with asyncio.timeout(20):
        while await told_title(running, cleared, number) != "[phone]":
            number += 1
    audited = len(await events(running))
    assert audited == number
    assert await told_title(running, cleared, number + 1) == "[phone]"
    assert (await get_entity(running, "thing:0", CLEARED)).title == "[phone]"
    assert len(await events(running)) == audited
    await cleared.stop()
