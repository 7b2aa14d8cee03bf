"""`palimpsest context`: the pack of what is useful now, with its provenance."""

from pathlib import Path
from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import CompileContextRequest
from palimpsest.v1.retrieval_pb2 import Budget

from cli.failure import ExitCode, Failure
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import note, say_json
from cli.pack_page import pack_page
from cli.pack_text import show_pack
from cli.query_options import CallerTime, Mode, ModeOption, Scopes, Systems, caller_time, search_filter
from cli.wording import search_mode


def context(
    query: Annotated[str, typer.Argument(help="What the agent needs to know about, in any words.")],
    namespace: Namespace = "default",
    characters: Annotated[int | None, typer.Option("--budget", min=200, help="Budget in characters.")] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", min=50, help="Budget in tokens, instead.")] = None,
    since: Annotated[
        str,
        typer.Option("--since", metavar="PACK", help="Only what is new, changed or no longer true since."),
    ] = "",
    with_scores: Annotated[
        bool, typer.Option("--scores", help="Tell how each item was found, its conflicts, and what did not fit.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the pack as a page, too.")] = None,
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
    """Compile what is useful now into a pack, and show where each item of it comes from."""
    request = CompileContextRequest(
        namespace=namespace,
        query=query,
        mode=search_mode(mode),
        budget=_budget(characters, tokens),
        since_pack_id=since,
        filter=search_filter(scope, system),
        at=time_point(as_of, known_at),
        caller_time=caller_time(time),
    )
    with connected(target, data) as connection:
        response = connection.client.reader.CompileContext(request)
    if as_json:
        say_json(response)
    else:
        show_pack(response, with_scores=with_scores, since=since)
    if html is not None:
        _write(html, pack_page(query, response, since=since))
    if not response.pack.items:
        raise typer.Exit(ExitCode.NOTHING)


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", ExitCode.USAGE) from None
    note(f"The page is in {file}")


def _budget(characters: int | None, tokens: int | None) -> Budget | None:
    if characters is not None and tokens is not None:
        raise Failure("--budget and --tokens: a pack has one budget", ExitCode.USAGE)
    if tokens is not None:
        return Budget(tokens=tokens)
    return Budget(characters=characters) if characters is not None else None
