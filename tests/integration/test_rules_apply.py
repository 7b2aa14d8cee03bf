"""Rules are given to those whom they are meant for (EN-7)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.record_pb2 import MemoryRecord, Rule, RuleScope
from palimpsest.v1.retrieval_pb2 import SEARCH_MODE_LEXICAL, SearchFilter, TimePoint

from services.reader.compiler.compiling import Wish
from services.reader.context import ReadContext
from services.reader.embedder_client import EmbedderClient
from services.reader.queries.compile_context import compile_context
from services.reader.queries.search import search
from services.reader.retrieval.retrieve import Query, Retriever
from services.reader.retrieval.signals import Mode
from services.reader.rows import Filter
from services.reader.store import Store
from services.reader.view import View
from shared.authentication.caller import READ, Caller, Grant
from shared.database import Database
from tests.integration.writing import NAMESPACE, Writer, observation

pytest_plugins = ("tests.integration.reader_fixtures",)


def moment(days: float) -> Timestamp:
    """A moment, so many days from now."""
    found = Timestamp()
    found.FromDatetime(datetime.now(UTC) + timedelta(days=days))
    return found


def rule(name: str, scope: int, holder: str = "", **fields: Any) -> Assertion:
    record = MemoryRecord(summary=f"rule {name}", rule=Rule(text=f"obey {name}", scope=scope, holder=holder), **fields)
    record.entity.key = f"rule:{name}"
    return Assertion(record=record)


RULES = [
    rule("global", RuleScope.RULE_SCOPE_GLOBAL),
    rule("dev", RuleScope.RULE_SCOPE_ROLE, "dev"),
    rule("typed-dev", RuleScope.RULE_SCOPE_ROLE, "role:dev"),
    rule("ops", RuleScope.RULE_SCOPE_ROLE, "ops"),
    rule("coder", RuleScope.RULE_SCOPE_AGENT, "coder"),
    rule("agent-dev", RuleScope.RULE_SCOPE_AGENT, "dev"),
    rule("now", RuleScope.RULE_SCOPE_TEMPORARY, valid_from=moment(-1), valid_to=moment(1)),
    rule("over", RuleScope.RULE_SCOPE_TEMPORARY, valid_from=moment(-3), valid_to=moment(-2)),
    rule("to-come", RuleScope.RULE_SCOPE_TEMPORARY, valid_from=moment(2), valid_to=moment(3)),
    rule("expired", RuleScope.RULE_SCOPE_TEMPORARY, expires_at=moment(-1)),
    rule("now-of-coder", RuleScope.RULE_SCOPE_TEMPORARY, "coder", valid_to=moment(1)),
]
FOR_ALL = {"global", "now"}


@pytest.fixture
async def ruled(writer: Writer) -> Writer:
    """A writer that was told the rules."""
    recorded = await writer.record(observation("1", *RULES))
    assert not recorded.failed_assertions
    return writer


async def given(database: Database, **caller: Any) -> set[str]:
    """The rules that a caller gets, the same by search and in a pack."""
    retriever = Retriever(Store(database), EmbedderClient("", timeout_s=1, cached_queries=0), exact_scan_rows=1_000)
    made = Caller(subject="s", grants=(Grant(("*",), frozenset({READ})),), **caller)
    context = ReadContext(Store(database), View.of(made, NAMESPACE), timeout_s=30)
    query = Query("obey the rule", Mode.LEXICAL, Filter(), limit=50)
    found = await search(context, retriever, query)
    pack = (await compile_context(context, retriever, query, Wish(""))).pack
    assert {item.item_id for item in pack.items} == {hit.fused.candidate.item_id for hit in found.hits}
    return {item.item_id.removeprefix("rule:") for item in pack.items}


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ({}, FOR_ALL),
        ({"labels": frozenset({"role:dev"})}, FOR_ALL | {"dev", "typed-dev"}),
        ({"labels": frozenset({"role:ops", "workspace:dev", "principal:coder"})}, FOR_ALL | {"ops"}),
        ({"agent_id": "coder"}, FOR_ALL | {"coder", "now-of-coder"}),
        ({"agent_id": "dev"}, FOR_ALL | {"agent-dev"}),
        ({"agent_id": "coder", "labels": frozenset({"role:ops"})}, FOR_ALL | {"ops", "coder", "now-of-coder"}),
        ({"sees_all": True}, FOR_ALL),
    ],
)
async def test_a_caller_gets_the_rules_that_are_meant_for_it(
    ruled: Writer, database: Database, caller: dict[str, Any], expected: set[str]
) -> None:
    """EN-7: global ones, those of its role, those of its agent, and temporary ones while they last."""
    assert await given(database, **caller) == expected


async def test_who_sees_all_may_ask_on_behalf_of_others(ruled: Writer, reader: ReaderServiceStub) -> None:
    """EN-7: by naming a role or an agent among the request's labels; over the wire, as the local caller."""

    async def asked(*scopes: str) -> set[str]:
        request = reads.SearchRequest(
            namespace=NAMESPACE,
            query="obey rule",
            mode=SEARCH_MODE_LEXICAL,
            filter=SearchFilter(scopes=scopes),
            limit=50,
        )
        return {hit.item_id.removeprefix("rule:") for hit in (await reader.Search(request)).hits}

    assert await asked() == FOR_ALL
    assert await asked("agent:coder", "role:ops") == FOR_ALL | {"coder", "now-of-coder", "ops"}


async def test_a_past_moment_has_the_rules_of_then(ruled: Writer, reader: ReaderServiceStub) -> None:
    """EN-7, FA-10: as of then."""
    request = reads.SearchRequest(
        namespace=NAMESPACE, query="obey rule", mode=SEARCH_MODE_LEXICAL, at=TimePoint(as_of=moment(-2.5)), limit=50
    )
    found = {hit.item_id.removeprefix("rule:") for hit in (await reader.Search(request)).hits}
    assert found == {"global", "over"}
