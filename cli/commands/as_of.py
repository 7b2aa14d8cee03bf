"""`palimpsest as-of`: what was true at a moment, and a subject's facts over time."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.fact_pb2 import Fact
from palimpsest.v1.reader_service_pb2 import ListFactsRequest
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import TimePoint

from cli.failure import ExitCode
from cli.options import Data, Json, KnownAt, Namespace, Target, connected, moment
from cli.output import note, say, say_json, say_table
from cli.pages import items_of
from cli.timeline import Span, draw, scale

_WIDTH = 48


def as_of(
    time: Annotated[str, typer.Argument(metavar="TIME", help="The moment (RFC 3339).")],
    subject: Annotated[str | None, typer.Argument(help="Key of an entity: draws all its facts over time.")] = None,
    namespace: Namespace = "default",
    predicate: Annotated[str, typer.Option("--predicate", help="Only this relation.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most facts.")] = 100,
    known_at: KnownAt = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show what was true at a moment; of one subject also what came before and after, as a timeline.

    On the timeline = is when a fact holds, < and > an unknown start and an open end; the moment is # on facts that hold
    then, and | on others.
    """
    point = moment(time, "TIME")
    assert point is not None
    request = ListFactsRequest(
        namespace=namespace,
        subject=EntityRef(key=subject) if subject is not None else None,
        predicate=predicate,
        include_history=subject is not None,
        at=TimePoint(as_of=point, known_at=moment(known_at, "--known-at")),
    )
    with connected(target, data) as connection:
        found = list(items_of(connection.client.reader.ListFacts, request, "facts", limit))
    then = _utc(point)
    holding = [fact for fact in found if _span(fact).holds_at(then)]
    if as_json:
        for fact in holding:
            say_json(fact)
    elif subject is not None and found:
        _show_timeline(found, then)
    elif found:
        say_table(("fact", "statement"), ((fact.fact_id, fact.sentence) for fact in found))
    if not holding:
        note("Nothing held then.")
        raise typer.Exit(ExitCode.NOTHING)


def _show_timeline(facts: list[Fact], then: datetime) -> None:
    spans = [_span(fact) for fact in facts]
    say(scale(spans, then, _WIDTH), "dim")
    lines = draw(spans, then, _WIDTH)
    for line, fact in zip(lines, facts, strict=True):
        style = "bold" if _span(fact).holds_at(then) else ""
        say(f"{line}  {fact.sentence}", style)


def _span(fact: Fact) -> Span:
    start = _utc(fact.valid_from) if fact.HasField("valid_from") else None
    end = _utc(fact.valid_to) if fact.HasField("valid_to") else None
    return Span(fact.sentence, start, end)


def _utc(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)
