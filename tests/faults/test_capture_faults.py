"""A fault that users of memory systems reported: what was recalled was captured again, till most of it was junk."""

from __future__ import annotations

import json
import textwrap

from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.capturing import ALICE, allow, capture, message
from tests.integration.compiling import compiled
from tests.integration.writing import NAMESPACE, Writer, entity, fact, observation

pytest_plugins = ("tests.integration.conftest", "tests.integration.reader_fixtures")

WAYS = {
    "whole": lambda pack: pack,
    "without its tail": lambda pack: pack[: len(pack) * 2 // 3],
    "without its head": lambda pack: pack[len(pack) // 3 :],
    "quoted": lambda pack: "\n".join(f"> {line}" for line in pack.split("\n")),
    "reflowed": lambda pack: "\n".join(textwrap.wrap(pack, 50)),
    "as JSON": json.dumps,
    "with other signs": lambda pack: pack.translate(str.maketrans("<>[]{}-", "‹›【】｛｝—")),
    "as a list": lambda pack: "\n".join(f"- **{line}**" for line in pack.split("\n")),
    "shouted": str.upper,
}


async def test_8_recalled_memories_are_not_captured_again(writer: Writer, reader: ReaderServiceStub) -> None:
    """Fault 8, CP-2: whatever became of a pack, the block is gone, no fact gains evidence, and the counter rises."""
    await allow(writer, ALICE)
    facts = [fact(f"person:{name}", "WORKS_ON", "project:alpha") for name in ("anna", "boris", "clara", "dmitri")]
    titles = [entity("project:alpha", title="Project Alpha")]
    said = "Alpha ships on Fridays.\nIts reports are written by Anna.\n\nБорис следит за сборкой."
    await writer.record(observation("1", *facts, *titles, content=said))
    pack = (await compiled(reader, "who works on project Alpha?")).pack
    assert len(pack.items) > 3
    before = await writer.rows("SELECT fact_id, observation_id FROM fact_evidence ORDER BY fact_id")

    own = "Спасибо! I shall ask Boris."
    turns = [message(way, f"{own}\n\n{mangle(pack.rendered)}\n\n{own}") for way, mangle in WAYS.items()]
    results = await capture(writer, *turns)

    assert [(way, result.stripped_blocks) for way, result in zip(WAYS, results, strict=True)] == [
        (way, 1) for way in WAYS
    ]
    rows = await writer.rows("SELECT external_id, content FROM observations WHERE kind = 'message'")
    for row in rows:
        assert "alpha" not in row["content"].lower(), row["external_id"]
        assert row["content"].startswith(own)
        assert row["content"].endswith(own)
    assert len(rows) == len(WAYS)
    assert await writer.rows("SELECT fact_id, observation_id FROM fact_evidence ORDER BY fact_id") == before
    health = await reader.GetMemoryHealth(reads.GetMemoryHealthRequest(namespace=NAMESPACE))
    assert health.health.stripped == len(WAYS)
