"""What clients propose and packs find is held against the text, as what a model says is."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.error_reason_pb2 import ErrorReason
from palimpsest.v1.fact_pb2 import EvidenceClass
from palimpsest.v1.governance_pb2 import ProposalResult, ProposedFact
from palimpsest.v1.namespace_pb2 import DomainPack, PackKind, PackRelation
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.capturing import ALICE, BOB, allow, capture, message
from tests.integration.configuring import enabled, refused, register
from tests.integration.writing import NAMESPACE, Writer, at, observation, typed

pytest_plugins = ("tests.integration.reader_fixtures",)

SAID = "Решили: Ёлку ставит Иван, 28 декабря. Alice orders the tree."

PACK = DomainPack(
    pack="tracker",
    version=1,
    kinds=[
        PackKind(kind="issue", key_template="issue:<id>", id_patterns=[r"\b[A-Z]{2,10}-\d+\b"]),
        PackKind(kind="person", key_template="person:{name}"),
    ],
    relations=[
        PackRelation(
            relation="BLOCKS",
            from_kinds=["issue"],
            to_kinds=["issue"],
            patterns=[r"(?P<subject>[A-Z]+-\d+) blocks (?P<object>[A-Z]+-\d+)"],
        ),
        PackRelation(relation="WORKS_FROM", patterns=[r"(?i)I work from (?P<object>\w+)"]),
    ],
)


def proposal(subject: str, predicate: str, value: str, quote: str, **fields: Any) -> ProposedFact:
    made: dict[str, Any] = {"object_is_entity": True, **fields}
    return ProposedFact(subject=subject, predicate=predicate, object=value, quote=quote, **made)


async def propose(
    writer: Writer, observation_id: str, *facts: ProposedFact, by: str = "tool@1"
) -> list[ProposalResult]:
    request = pb.ProposeFactsRequest(namespace=NAMESPACE, observation_id=observation_id, facts=facts, extracted_by=by)
    return list((await writer.stub.ProposeFacts(request)).results)


async def test_what_is_grounded_is_accepted(writer: Writer, reader: ReaderServiceStub) -> None:
    """CP-4: each with its own result; INFERRED, with the span of its quote; the others are told why, and counted."""
    recorded = await writer.record(observation("1", content=SAID, actor=typed(BOB), scopes=["project:x"]))
    results = await propose(
        writer,
        recorded.observation_id,
        proposal("Иван", "BRINGS", "елку", "елку ставит иван", confidence=0.8, valid_from=at()),
        proposal("Иван", "BRINGS", "ель", "ёлку ставит иван"),
        proposal("Иван", "BRINGS", "ёлку", "ёлку приносит иван"),
        proposal("Иван", "BRINGS", "", "ёлку ставит Иван"),
        proposal("bob", "SAW", "28", "28 декабря", object_is_entity=False),
    )
    reasons = [ErrorReason.Name(result.error.reason) for result in results]
    assert reasons == [
        "ERROR_REASON_UNSPECIFIED",
        "ERROR_REASON_UNKNOWN_END",
        "ERROR_REASON_UNGROUNDED_QUOTE",
        "ERROR_REASON_INVALID_FIELD",
        "ERROR_REASON_UNSPECIFIED",
    ]
    assert [each.error.violations[0].field for each in results[1:4]] == [
        "facts[1].object",
        "facts[2].quote",
        "facts[3].object",
    ]
    assert SAID[results[0].quote_start : results[0].quote_end] == "Ёлку ставит Иван"
    found = (await reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=results[0].fact_id))).fact
    assert (found.evidence, found.confidence) == (EvidenceClass.EVIDENCE_CLASS_INFERRED, 0.8)
    assert list(found.scopes) == ["project:x"]
    row = await writer.row("SELECT data FROM observations WHERE kind = 'extraction'")
    assert json.loads(row["data"])["quotes"][0]["start"] == results[0].quote_start
    second = (await reader.GetFact(reads.GetFactRequest(namespace=NAMESPACE, fact_id=results[4].fact_id))).fact
    assert second.subject_key == BOB
    counted = await writer.rows("SELECT reason, number FROM rejections ORDER BY reason")
    assert {row["reason"] for row in counted} == {"UNGROUNDED_QUOTE", "UNKNOWN_END", "INVALID_FIELD"}


async def test_proposing_again_changes_nothing(writer: Writer) -> None:
    """OB-3: the same facts of one extractor are stored once; of another they are more evidence."""
    recorded = await writer.record(observation("1", content=SAID))
    brings = proposal("Иван", "BRINGS", "ёлку", "Ёлку ставит Иван")
    [first] = await propose(writer, recorded.observation_id, brings)
    assert [each.fact_id for each in await propose(writer, recorded.observation_id, brings)] == [first.fact_id]
    assert len(await writer.rows("SELECT FROM fact_evidence WHERE fact_id = $1", first.fact_id)) == 1
    await propose(writer, recorded.observation_id, brings, by="other@2")
    assert len(await writer.rows("SELECT FROM fact_evidence WHERE fact_id = $1", first.fact_id)) == 2


async def test_where_there_is_no_text(writer: Writer) -> None:
    """CP-4, AU-2: an unknown observation, one without text, and a redacted one."""
    fine = proposal("Иван", "BRINGS", "ёлку", "Ёлку ставит Иван")
    async with refused(grpc.StatusCode.NOT_FOUND, "NOT_FOUND"):
        await propose(writer, "obs-" + "0" * 24, fine)
    empty = await writer.record(observation("1", data="{}"))
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "INVALID_STATE"):
        await propose(writer, empty.observation_id, fine)
    said = await writer.record(observation("2", content=SAID))
    [accepted] = await propose(writer, said.observation_id, fine)
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=said.observation_id, reason="asked")
    await writer.stub.RedactObservation(request)
    async with refused(grpc.StatusCode.FAILED_PRECONDITION, "INVALID_STATE"):
        await propose(writer, said.observation_id, fine)
    row = await writer.row("SELECT evidence_lost FROM facts WHERE fact_id = $1", accepted.fact_id)
    assert row["evidence_lost"]


async def test_packs_find_facts_without_a_model(writer: Writer) -> None:
    """CP-4: mentioned ids, and relations; EXTRACTED; of allowed authors alone, once however often they come."""
    await register(writer, PACK)
    await allow(writer, ALICE, packs=enabled(PACK))
    text = "OPS-17 blocks OPS-18, and I work from Lisbon."
    turns = [message("1", text), message("2", text, BOB)]
    [first, _] = await capture(writer, *turns)
    found = await writer.rows(
        "SELECT subject_key, predicate, object_text, evidence FROM facts ORDER BY predicate, object_text"
    )
    assert [tuple(row.values()) for row in found] == [
        ("issue:OPS-17", "BLOCKS", "issue:OPS-18", EvidenceClass.EVIDENCE_CLASS_EXTRACTED),
        (ALICE, "MENTIONS", "issue:OPS-17", EvidenceClass.EVIDENCE_CLASS_EXTRACTED),
        (ALICE, "MENTIONS", "issue:OPS-18", EvidenceClass.EVIDENCE_CLASS_EXTRACTED),
        (ALICE, "WORKS_FROM", "Lisbon", EvidenceClass.EVIDENCE_CLASS_EXTRACTED),
    ]
    row = await writer.row("SELECT data, message FROM observations WHERE kind = 'extraction'")
    spans = [text[each["start"] : each["end"]] for each in json.loads(row["data"])["quotes"]]
    assert spans == ["OPS-17 blocks OPS-18", "I work from Lisbon", "OPS-17", "OPS-18"]
    assert b"pack:tracker@1" in row["message"]
    await capture(writer, *turns)
    assert len(await writer.rows("SELECT FROM fact_evidence")) == 4
    request = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=first.observation_id, reason="asked")
    await writer.stub.RedactObservation(request)
    assert all(row["evidence_lost"] for row in await writer.rows("SELECT evidence_lost FROM facts"))


@pytest.mark.parametrize("pattern", ["(?P<subject>a) b", "(?P<object>a", "(?P<object>a*)"])
async def test_patterns_that_cannot_be(writer: Writer, pattern: str) -> None:
    """DP-1, OP-2: refused with their path."""
    pack = DomainPack(pack="p", version=1, relations=[PackRelation(relation="R", patterns=[pattern])])
    async with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as paths:
        await register(writer, pack)
    assert paths == ["pack.relations[0].patterns[0]"]
