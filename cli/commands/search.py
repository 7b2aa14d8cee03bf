"""`palimpsest search`: finds items, best first."""

from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import SearchRequest, SearchResponse
from palimpsest.v1.retrieval_pb2 import SearchHit

from cli.failure import ExitCode
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import INDENT, note, say, say_cut, say_json
from cli.query_options import CallerTime, Mode, ModeOption, Scopes, Systems, caller_time, search_filter
from cli.wording import QUERY_CUT, degradations, kind_name, provenance, scores, search_mode, status_mark, why_empty

_SOURCES = 3


def search(
    query: Annotated[str, typer.Argument(help="What is sought, in any words.")],
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="Most hits.")] = 10,
    mode: ModeOption = Mode.FULL,
    scope: Scopes = None,
    system: Systems = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    time: CallerTime = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Find items by words, meaning, graph and time, best first.

    Of each signal that found an item its raw score is told, what it contributed to the item's score, and the item's
    rank in the signal's own list.
    """
    request = SearchRequest(
        namespace=namespace,
        query=query,
        limit=limit,
        mode=search_mode(mode),
        filter=search_filter(scope, system),
        at=time_point(as_of, known_at),
        caller_time=caller_time(time),
    )
    with connected(target, data) as connection:
        response = connection.client.reader.Search(request)
    if as_json:
        say_json(response)
    else:
        show_hits(response)
    if not response.hits:
        raise typer.Exit(ExitCode.NOTHING)


def show_hits(response: SearchResponse) -> None:
    """Prints the hits, each as a block; or why there are none."""
    for line in degradations(response.degraded):
        note(line, "yellow")
    if response.query_truncated:
        note(QUERY_CUT, "yellow")
    if not response.hits:
        note(why_empty(response.abstention, response.relevance))
    for place, hit in enumerate(response.hits, start=1):
        _show_hit(place, hit)


def _show_hit(place: int, hit: SearchHit) -> None:
    status = status_mark(hit.status)
    mark = f"  ({status})" if status else ""
    say(f"{place}. {hit.score:.3f}  {kind_name(hit.kind)}  {hit.item_id}{mark}", "bold")
    say_cut(_text(hit))
    if hit.signals:
        say(f"{INDENT}{scores(hit.signals)}", "dim")
    # The latest ones: what was said last is what is asked for most.
    for link in hit.provenance[-_SOURCES:]:
        say(f"{INDENT}from {provenance(link)}", "dim")
    if len(hit.provenance) > _SOURCES:
        say(f"{INDENT}and {len(hit.provenance) - _SOURCES} before", "dim")


def _text(hit: SearchHit) -> str:
    match hit.WhichOneof("item"):
        case "chunk":
            head = " — ".join(part for part in (hit.chunk.title.removesuffix(":"), hit.chunk.heading) if part)
            return f"{head}: {hit.chunk.text}" if head else hit.chunk.text
        case "fact":
            return hit.fact.sentence
        case _:
            return f"{hit.entity.title} ({hit.entity.natural_key})"
