"""`palimpsest search`: finds items, best first."""

from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import SearchRequest, SearchResponse
from palimpsest.v1.retrieval_pb2 import SearchHit

from cli.failure import ExitCode
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import note, one_line, say_json, say_table
from cli.query_options import Mode, ModeOption, Scopes, Systems, caller_time, search_filter
from cli.wording import degradations, kind_name, provenance, scores, search_mode, why_empty

_TEXT_CHARACTERS = 300


def search(
    query: Annotated[str, typer.Argument(help="What is sought, in any words.")],
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Most hits.")] = 10,
    mode: ModeOption = Mode.FULL,
    scope: Scopes = None,
    system: Systems = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Find items by words, meaning, graph and time, best first."""
    request = SearchRequest(
        namespace=namespace,
        query=query,
        limit=limit,
        mode=search_mode(mode),
        filter=search_filter(scope, system),
        at=time_point(as_of, known_at),
        caller_time=caller_time(),
    )
    with connected(target, data) as connection:
        response = connection.client.reader.Search(request)
    if as_json:
        say_json(response)
    else:
        _show(response)
    if not response.hits:
        raise typer.Exit(ExitCode.NOTHING)


def _show(response: SearchResponse) -> None:
    for line in degradations(response.degraded):
        note(line, "yellow")
    if not response.hits:
        note(why_empty(response.abstention, response.relevance))
        return
    rows = ((str(place), *_row(hit)) for place, hit in enumerate(response.hits, start=1))
    say_table(("#", "kind", "score", "signals", "from", "text"), rows)


def _row(hit: SearchHit) -> tuple[str, ...]:
    source = provenance(hit.provenance[0]) if hit.provenance else hit.item_id
    return (kind_name(hit.kind), f"{hit.score:.3f}", scores(hit.signals), source, _text(hit))


def _text(hit: SearchHit) -> str:
    match hit.WhichOneof("item"):
        case "chunk":
            head = " — ".join(part for part in (hit.chunk.title, hit.chunk.heading) if part)
            return one_line(f"{head}: {hit.chunk.text}" if head else hit.chunk.text, _TEXT_CHARACTERS)
        case "fact":
            return one_line(hit.fact.sentence, _TEXT_CHARACTERS)
        case _:
            return one_line(f"{hit.entity.title} ({hit.entity.natural_key})", _TEXT_CHARACTERS)
