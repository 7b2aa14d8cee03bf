"""`palimpsest facts`: what holds, of one subject or of all."""

from collections.abc import Iterator
from typing import Annotated

import typer
from palimpsest.client import Client
from palimpsest.v1.fact_pb2 import EvidenceClass, Fact, FactClosure
from palimpsest.v1.reader_service_pb2 import ListFactsRequest
from palimpsest.v1.reference_pb2 import EntityRef

from cli.failure import ExitCode
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import note, say_json, say_table

_PAGE = 200


def facts(
    subject: Annotated[str | None, typer.Argument(help="Key of an entity, e.g. person:alice.")] = None,
    namespace: Namespace = "default",
    predicate: Annotated[str, typer.Option("--predicate", help="Only this relation.")] = "",
    history: Annotated[bool, typer.Option("--history", help="Also what has ended, or was superseded.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most facts.")] = 100,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List facts with their intervals and evidence."""
    request = ListFactsRequest(
        namespace=namespace,
        subject=EntityRef(key=subject) if subject is not None else None,
        predicate=predicate,
        include_history=history,
        at=time_point(as_of, known_at),
        page_size=min(limit, _PAGE),
    )
    with connected(target, data) as connection:
        found = list(_pages(connection.client, request, limit))
    if as_json:
        for fact in found:
            say_json(fact)
    elif found:
        say_table(("fact", "evidence", "confidence", "ended by", "statement"), map(_row, found))
    if not found:
        note("No facts.")
        raise typer.Exit(ExitCode.NOTHING)


def _pages(client: Client, request: ListFactsRequest, limit: int) -> Iterator[Fact]:
    while limit > 0:
        response = client.reader.ListFacts(request)
        yield from response.facts[:limit]
        limit -= len(response.facts)
        if not response.next_page_token:
            return
        request.page_token = response.next_page_token


def _row(fact: Fact) -> tuple[str, ...]:
    evidence = EvidenceClass.Name(fact.evidence).removeprefix("EVIDENCE_CLASS_").lower()
    closure = FactClosure.Name(fact.closure).removeprefix("FACT_CLOSURE_").lower() if fact.closure else ""
    observations = f"{evidence} ×{len(fact.observation_ids)}"
    return (fact.fact_id, observations, f"{fact.confidence:.2f}", closure, fact.sentence)
