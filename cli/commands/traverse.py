"""`palimpsest traverse`: paths through the graph."""

from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import TraverseRequest, TraverseResponse
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import GraphPath

from cli.failure import ExitCode, Failure
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import note, say, say_json
from cli.query_options import Relations, Way, WayOption, direction
from cli.wording import step_arrow


def traverse(
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY]...", help="Where to start: keys, titles or aliases."),
    ] = None,
    namespace: Namespace = "default",
    text: Annotated[str, typer.Option("--text", help="Start from what this text names, too.")] = "",
    relation: Relations = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Only to entities of this kind; may be repeated.")
    ] = None,
    way: WayOption = Way.BOTH,
    depth: Annotated[int, typer.Option("--depth", min=1, max=3, help="Most steps.")] = 2,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most paths.")] = 100,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Walk the graph and draw the paths, shortest and heaviest first: a —R→ b ←S— c (weight)."""
    if not (keys or text):
        raise Failure("say where to start: a KEY, or --text", ExitCode.USAGE)
    request = TraverseRequest(
        namespace=namespace,
        anchors=[EntityRef(key=key) for key in keys or ()],
        anchor_text=text,
        relations=relation or (),
        kinds=kind or (),
        direction=direction(way),
        depth=depth,
        at=time_point(as_of, known_at),
        limit=limit,
    )
    with connected(target, data) as connection:
        response = connection.client.reader.Traverse(request)
    if as_json:
        say_json(response)
    else:
        _show(response)
    if not response.paths:
        raise typer.Exit(ExitCode.NOTHING)


def drawn(path: GraphPath) -> str:
    """A path on one line: `a —R→ b ←S— c (0.72)`."""
    words = [path.entity_keys[0]]
    for step, key in zip(path.steps, path.entity_keys[1:], strict=True):
        words += [step_arrow(step), key]
    return f"{' '.join(words)} ({path.weight:.2f})"


def _show(response: TraverseResponse) -> None:
    if not response.paths:
        note("No paths.")
    for path in response.paths:
        say(drawn(path))
    if response.truncated:
        note("There are more paths than these: narrow the walk, or raise --limit.", "yellow")
