"""PR-1, PR-2: wherever personal data was planted, no answer tells it to a caller without the clearance, and every
answer that tells it to one who has it was put into the audit."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.protobuf.message import Message
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import writer_service_pb2 as writes
from palimpsest.v1.observation_pb2 import Observation

from tests.integration.protecting import CLEARED, UNCLEARED, as_, services, texts_of
from tests.integration.writing import NAMESPACE, observation_id, query
from tests.property.asking import QUESTIONS, Asker, Known
from tests.property.personal_world import KEYS, PersonalWorld, personal_world

QUERIES = ("the gateway of payments renews its certificate", "телефон почта карта паспорт")


def known_names(world: PersonalWorld) -> Known:
    return Known(
        keys=(*KEYS, "nothing:here"),
        fact_ids=world.fact_ids(),
        observation_ids=[observation_id(each) for each in world.said],
        queries=(*QUERIES, *sorted(world.planted)[:1]),
    )


def texts(answer: Any) -> Iterator[str]:
    """All that an answer tells; tokens of pages opened as far as they can be."""
    if not isinstance(answer, Message):
        yield answer[1].decode(errors="replace")
        return
    yield from texts_of(answer)
    token = getattr(answer, "next_page_token", "")
    yield base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode(errors="replace")


async def audited_methods(dsn: str) -> set[str]:
    """RPCs of which the audit says that they told personal data."""
    sql = "SELECT DISTINCT details::jsonb ->> 'rpc' AS rpc FROM audit_events WHERE action = 'pii_access'"
    return {each["rpc"].rpartition("/")[2] for each in await query(dsn, sql)}


async def all_answers(asker: Asker) -> Iterator[tuple[str, str, Any]]:
    """What every RPC answers, with its name and what was asked."""
    return iter([(method, asked, each) for method, ask in QUESTIONS.items() async for asked, each in ask(asker)])


@pytest.mark.parametrize("number", range(2))
async def test_no_answer_tells_what_was_planted(dsn: str, tmp_path: Path, number: int) -> None:
    """PR-1, PR-2: a random memory, asked by every RPC. What the caller itself asks for by its key is given back."""
    world = personal_world(Random(number))
    async with services(dsn, tmp_path) as running:
        await running.protect()
        await running.record(*world.said)
        await running.writer.RunCuration(writes.RunCurationRequest(namespace=NAMESPACE), **as_(CLEARED))
        known = known_names(world)
        leaks: list[str] = []
        for method, _, answer in await all_answers(Asker(running.reader_channel, UNCLEARED, known)):
            leaks += [
                f"{method}: {value} in {text}" for text in texts(answer) for value in world.found_in(iter([text]))
            ]
        assert not leaks, "\n".join(sorted(set(leaks))[:40])
        assert not await query(dsn, "SELECT * FROM audit_events WHERE action = 'pii_access'"), "nothing left unmasked"
        told: set[str] = set()
        for method, asked, answer in await all_answers(Asker(running.reader_channel, CLEARED, known)):
            told |= (found := world.found_in(texts(answer)))
            assert not found or method in await audited_methods(dsn), asked
        events = await query(dsn, "SELECT target, details FROM audit_events WHERE action = 'pii_access'")
        assert not world.found_in(str(each) for each in events), "the audit tells no value"
        assert told == world.planted


async def test_what_was_sent_comes_back_whole_to_the_cleared(dsn: str, tmp_path: Path) -> None:
    """PR-1: the clearance shows every byte of what was said; without it JSON is JSON still, numbers whole."""
    world = personal_world(Random(7), said=3)
    async with services(dsn, tmp_path) as running:
        await running.protect()
        await running.record(*world.said)
        for said in world.said:
            request = pb.GetObservationRequest(namespace=NAMESPACE, observation_id=observation_id(said))
            stored: Observation = (await running.reader.GetObservation(request, **as_(CLEARED))).observation.observation
            assert stored == said
            masked: Observation = (
                await running.reader.GetObservation(request, **as_(UNCLEARED))
            ).observation.observation
            assert json.loads(masked.data)["n"] == 2**60
            assert "[" in masked.content
            assert masked.ByteSize() > said.ByteSize() / 4
