"""AC-5: write roles, enforced on every change of what they guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from palimpsest.errors import details_of
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.error_reason_pb2 import ErrorReason
from palimpsest.v1.fact_pb2 import FactCorrection, FactRetraction
from palimpsest.v1.observation_pb2 import Assertion, Observation, RecordedObservation
from palimpsest.v1.record_pb2 import MemoryRecord, Preference
from palimpsest.v1.reference_pb2 import EntityRef, Permissions
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.writer.service import NAME, build_service
from tests.conftest import execute
from tests.integration.writing import (
    NAMESPACE,
    STATE,
    article,
    claim,
    document,
    entity,
    fact,
    fact_id,
    link,
    observation,
    query,
    serving,
    state,
    until_serving,
    writer_settings,
)
from tests.unit.granting import entry, grants_file

LEADS = Permissions(write_roles=["lead", "owner"])
LIVES = fact("person:ann", "LIVES_IN", "place:north")


@dataclass(frozen=True)
class As:
    """A writer, as one of its callers."""

    stub: WriterServiceStub
    token: str

    def call(self, method: str, request: Any) -> Any:
        return getattr(self.stub, method)(request, metadata=(("authorization", f"Bearer {self.token}"),), timeout=30)

    async def record(self, said: Observation) -> RecordedObservation:
        answer = await self.call(
            "RecordObservation", pb.RecordObservationRequest(namespace=NAMESPACE, observation=said)
        )
        result: RecordedObservation = answer.result
        return result


@dataclass(frozen=True)
class Callers:
    """A writer whose callers hold different roles."""

    lead: As
    outsider: As
    admin: As
    dsn: str


@pytest.fixture
async def callers(dsn: str, tmp_path: Path) -> AsyncIterator[Callers]:
    admin = [{"namespaces": [NAMESPACE], "permissions": ["write", "admin"]}]
    grants = grants_file(
        tmp_path,
        entry("lea", "lead", labels=["role:lead"]),
        entry("otto", "outsider", labels=["role:dev", "workspace:lead"]),
        entry("ada", "admin", grants=admin),
    )
    service = build_service(writer_settings(dsn))
    async with (
        serving(service, auth_mode="static", auth_grants_file=grants) as target,
        grpc.aio.insecure_channel(target) as channel,
    ):
        await until_serving(channel, NAME)
        stub = WriterServiceStub(channel)
        yield Callers(As(stub, "lead"), As(stub, "outsider"), As(stub, "admin"), dsn)


async def is_denied(call: Awaitable[Any]) -> bool:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.PERMISSION_DENIED or details_of(error).reason != "PERMISSION_DENIED":
            raise
        return True
    return False


def denied(recorded: RecordedObservation) -> list[int]:
    """Indices of the assertions that were refused for want of a role."""
    for failed in recorded.failed_assertions:
        assert (failed.error.reason, failed.error.code) == (ErrorReason.ERROR_REASON_PERMISSION_DENIED, 7)
        assert dict(failed.error.metadata) == {"permission": "write"}
    return [failed.index for failed in recorded.failed_assertions]


def preference(key: str, value: str, permissions: Permissions | None = None) -> Assertion:
    body = Preference(holder=EntityRef(key="person:ann"), topic="tone", value=value)
    return Assertion(
        record=MemoryRecord(entity=EntityRef(key=key), summary=value, preference=body, permissions=permissions)
    )


async def guarded(callers: Callers) -> None:
    """Things that leads and owners may change."""
    said = (
        entity("person:ann", title="Ann"),
        LIVES,
        article("page", "# Page\n\nText."),
        preference("preference:1", "brief", LEADS),
    )
    assert not denied(await callers.lead.record(observation("guard", *said, permissions=LEADS)))


CHANGES: dict[str, Assertion] = {
    "describes": entity("person:ann", title="Bob"),
    "asserts again": LIVES,
    "gives a text": article("page", "other"),
    "gives a text in pieces": document("page", "other"),
    "writes a record": preference("preference:1", "verbose"),
    "takes the place of": fact("person:ann", "LIVES_IN", "place:south", supersedes=[fact_id(LIVES)]),
    "ends": Assertion(retraction=FactRetraction(fact_id=fact_id(LIVES))),
    "corrects": Assertion(
        correction=FactCorrection(
            fact_id=fact_id(LIVES), replacement=fact("person:ann", "LIVES_IN", "place:east").fact, reason="wrong"
        )
    ),
    "says it was wrong": Assertion(correction=FactCorrection(fact_id=fact_id(LIVES), reason="wrong")),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_an_assertion_without_a_role_changes_nothing(callers: Callers, change: str) -> None:
    """AC-5, OB-4: it fails with its index and reason; its neighbours are applied; nothing of it is left."""
    await guarded(callers)
    before = await state(callers.dsn)
    recorded = await callers.outsider.record(
        observation("2", entity("note"), CHANGES[change], entity("note2"), minutes=5)
    )
    assert denied(recorded) == [1]
    assert recorded.status == 3, "PARTIALLY_PROCESSED"
    after = await state(callers.dsn)
    for table in ("facts", "fact_evidence", "fact_supersessions", "fact_retractions", "documents", "passages"):
        assert [row for row in after[table] if "note" not in row] == before[table], table
    for key in ("person:ann", "page", "preference:1"):
        [was, now] = [[row for row in found["entities"] if f'"{key}"' in row] for found in (before, after)]
        assert now == was, key
    assert any('"note2"' in row for row in after["entities"])


async def test_who_holds_a_role_may_change_it(callers: Callers) -> None:
    """AC-5: one of the roles is enough; an administrator of the namespace needs none."""
    await guarded(callers)
    for number, caller in enumerate((callers.lead, callers.admin)):
        for change, assertion in CHANGES.items():
            assert not denied(await caller.record(observation(f"{change} {number}", assertion, minutes=5))), change


async def test_what_only_names_a_guarded_thing_is_no_change_of_it(callers: Callers) -> None:
    """AC-5: facts about it, links from and to it, and mentions are things of their own."""
    await guarded(callers)
    said = (
        fact("person:ann", "KNOWS", "person:bob"),
        fact("person:bob", "KNOWS", "person:ann"),
        link("person:ann", "LINKS_TO", "page"),
        claim("page", "MENTIONS", "issue", "7"),
        preference("preference:2", "brief"),
    )
    assert not denied(await callers.outsider.record(observation("2", *said, minutes=5)))


MARKS: dict[str, Any] = {
    "ConfirmItem": pb.ConfirmItemRequest,
    "ArchiveItem": pb.ArchiveItemRequest,
    "RestoreItem": pb.RestoreItemRequest,
    "DeleteItem": pb.DeleteItemRequest,
    "UndeleteItem": pb.UndeleteItemRequest,
    "MarkObsolete": pb.MarkObsoleteRequest,
    "UnmarkObsolete": pb.UnmarkObsoleteRequest,
}


@pytest.mark.parametrize(
    "target", [{"fact_id": fact_id(LIVES)}, {"entity": EntityRef(key="person:ann")}], ids=["fact", "entity"]
)
async def test_no_mark_without_a_role(callers: Callers, target: dict[str, Any]) -> None:
    """AC-5: what operators may say of an item is a change of it, too."""
    await guarded(callers)
    for method, request_type in MARKS.items():
        reason = {"reason": "why"} if "reason" in request_type.DESCRIPTOR.fields_by_name else {}
        request = request_type(namespace=NAMESPACE, **target, **reason)
        before = [await query(callers.dsn, f"SELECT * FROM {table}") for table in ("item_marks", "obsolete_marks")]
        assert await is_denied(callers.outsider.call(method, request)), method
        after = [await query(callers.dsn, f"SELECT * FROM {table}") for table in ("item_marks", "obsolete_marks")]
        assert after == before, method
        assert not await is_denied(callers.lead.call(method, request)), method


async def test_no_change_of_a_fact_by_its_own_rpcs(callers: Callers) -> None:
    """AC-5: CorrectFact and RetractFact store nothing; nor is a source hidden that guards something."""
    await guarded(callers)
    before = await state(callers.dsn)
    change = {"correction": FactCorrection(fact_id=fact_id(LIVES), reason="wrong")}
    end = {"retraction": FactRetraction(fact_id=fact_id(LIVES))}
    assert await is_denied(callers.outsider.call("CorrectFact", pb.CorrectFactRequest(namespace=NAMESPACE, **change)))
    assert await is_denied(callers.outsider.call("RetractFact", pb.RetractFactRequest(namespace=NAMESPACE, **end)))
    source = pb.DeleteSourceRequest(namespace=NAMESPACE, system="test", reason="old")
    assert await is_denied(callers.outsider.call("DeleteSource", source))
    assert await state(callers.dsn) == before
    assert not await is_denied(callers.lead.call("RetractFact", pb.RetractFactRequest(namespace=NAMESPACE, **end)))
    assert not await is_denied(callers.lead.call("DeleteSource", source))


async def test_nobody_gets_in_by_an_earlier_moment(callers: Callers) -> None:
    """AC-5: a statement that is dated back changes neither what is guarded nor who may; a holder's later one does."""
    await guarded(callers)
    mine = Permissions(write_roles=["dev"])
    back = observation("2", entity("person:ann", title="Bob", url="https://example.org"), minutes=-60, permissions=mine)
    assert denied(await callers.outsider.record(back)) == [0]
    assert denied(await callers.outsider.record(observation("3", CHANGES["describes"], minutes=9))) == [0]
    handed = observation("4", entity("person:ann"), minutes=10, permissions=mine)
    assert not denied(await callers.lead.record(handed))
    assert not denied(await callers.outsider.record(observation("5", CHANGES["describes"], minutes=11)))
    assert denied(await callers.lead.record(observation("6", CHANGES["describes"], minutes=12))) == [0]


async def test_without_roles_given_who_may_change_stays(callers: Callers) -> None:
    """AC-5: permissions that name no write roles say nothing of them."""
    await guarded(callers)
    assert not denied(await callers.lead.record(observation("2", entity("person:ann"), minutes=5)))
    assert denied(await callers.outsider.record(observation("3", CHANGES["describes"], minutes=6))) == [0]


async def test_a_duplicate_is_what_it_was(callers: Callers) -> None:
    """AC-5, OB-3: what was decided when an observation was recorded holds, whoever delivers it again."""
    await guarded(callers)
    said = observation("2", CHANGES["describes"], minutes=5)
    assert denied(await callers.outsider.record(said)) == [0]
    again = await callers.lead.record(said)
    assert (again.duplicate, denied(again)) == (True, [0])


async def test_redaction_does_not_apply_what_was_denied(callers: Callers) -> None:
    """AC-5, FA-8: what is projected anew is projected as it was; with what guarded it, its guard goes."""
    await guarded(callers)
    title = "SELECT title FROM entities WHERE natural_key = 'person:ann'"
    await callers.outsider.record(observation("2", CHANGES["describes"], entity("note"), minutes=5))
    # Of both things, so that both are projected anew, from the second observation too.
    both = (entity("person:ann", url="https://example.org"), entity("note", url="https://example.org"))
    third = await callers.lead.record(observation("3", *both, minutes=6))
    redact = pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=third.observation_id, reason="why")
    await callers.admin.call("RedactObservation", redact)
    assert await query(callers.dsn, title) == [{"title": "Ann"}]
    [first] = await query(callers.dsn, "SELECT observation_id FROM observations WHERE external_id = 'guard'")
    await callers.admin.call(
        "RedactObservation", pb.RedactObservationRequest(namespace=NAMESPACE, reason="why", **first)
    )
    assert await query(callers.dsn, "SELECT * FROM write_guards") == []
    assert not denied(await callers.outsider.record(observation("4", CHANGES["describes"], minutes=7)))


async def test_any_order_of_those_who_may_ends_in_one_state(callers: Callers) -> None:
    """AC-5, OB-7: guards and changes by those who hold the roles converge, in whichever order they come."""
    said = [
        observation("1", entity("person:ann", title="A"), minutes=1, permissions=LEADS),
        observation("2", entity("person:ann", title="B"), minutes=2, permissions=Permissions(write_roles=["lead"])),
        observation("3", entity("person:ann", title="C"), LIVES, minutes=3),
    ]
    found = []
    for order in permutations(said):
        await execute(callers.dsn, "; ".join(f"DELETE FROM {table}" for table in STATE))
        for each in order:
            assert not denied(await callers.lead.record(each))
        found.append(await state(callers.dsn))
    assert all(each == found[0] for each in found)
    assert len(found[0]["write_guards"]) == 2
