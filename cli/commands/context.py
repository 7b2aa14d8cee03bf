"""`palimpsest context`: the pack of what is useful now, with its provenance."""

from collections.abc import Iterator
from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import CompileContextRequest, CompileContextResponse
from palimpsest.v1.retrieval_pb2 import Budget, ContextPack

from cli.failure import ExitCode, Failure
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import note, say, say_json, say_table, say_verbatim, when
from cli.query_options import Mode, ModeOption, Scopes, Systems, caller_time, search_filter
from cli.wording import degradations, kind_name, search_mode, why_empty


def context(
    query: Annotated[str, typer.Argument(help="What the agent needs to know about, in any words.")],
    namespace: Namespace = "default",
    characters: Annotated[int | None, typer.Option("--budget", min=200, help="Budget in characters.")] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", min=50, help="Budget in tokens, instead.")] = None,
    mode: ModeOption = Mode.FULL,
    scope: Scopes = None,
    system: Systems = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Compile what is useful now into a pack, and show where each item of it comes from."""
    request = CompileContextRequest(
        namespace=namespace,
        query=query,
        mode=search_mode(mode),
        budget=_budget(characters, tokens),
        filter=search_filter(scope, system),
        at=time_point(as_of, known_at),
        caller_time=caller_time(),
    )
    with connected(target, data) as connection:
        response = connection.client.reader.CompileContext(request)
    if as_json:
        say_json(response)
    else:
        show_pack(response)
    if not response.pack.items:
        raise typer.Exit(ExitCode.NOTHING)


def show_pack(response: CompileContextResponse) -> None:
    """Prints a pack and its provenance; or why there is none."""
    for line in degradations(response.degraded):
        note(line, "yellow")
    pack = response.pack
    if not pack.items:
        say(why_empty(response.abstention, response.relevance), "bold")
        return
    say_verbatim(pack.rendered)
    say("")
    say_table(("#", "kind", "observation", "when", "from"), _provenance(pack), title="Provenance")
    omitted = f"; {pack.omitted_count} more did not fit" if pack.omitted_count else ""
    say(f"{pack.pack_id}: {len(pack.items)} items, {pack.characters:,} characters{omitted}", "dim")


def _provenance(pack: ContextPack) -> Iterator[tuple[str, ...]]:
    for item in pack.items:
        for link in item.provenance:
            source = "/".join(part for part in (link.source.system, link.source.stream) if part)
            event = link.uri or link.source.external_id
            moment = when(link.occurred_at)
            yield (str(item.number), kind_name(item.kind), link.observation_id, moment, f"{source} {event}".strip())


def _budget(characters: int | None, tokens: int | None) -> Budget | None:
    if characters is not None and tokens is not None:
        raise Failure("--budget and --tokens: a pack has one budget", ExitCode.USAGE)
    if tokens is not None:
        return Budget(tokens=tokens)
    return Budget(characters=characters) if characters is not None else None
