"""`palimpsest neighbours`: what an entity is tied to, by links and current facts."""

from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import ListNeighborsRequest
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import Neighbor

from cli.failure import ExitCode
from cli.options import AsOf, Data, Json, KnownAt, Namespace, Target, connected, time_point
from cli.output import note, say, say_json, say_table
from cli.pages import items_of
from cli.query_options import Relations, Way, WayOption, direction
from cli.wording import step_arrow


def neighbours(
    key: Annotated[str, typer.Argument(help="Key of an entity, e.g. person:alice.")],
    namespace: Namespace = "default",
    relation: Relations = None,
    way: WayOption = Way.BOTH,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most neighbours.")] = 100,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List an entity's neighbours with the edges to them, heaviest first."""
    request = ListNeighborsRequest(
        namespace=namespace,
        entity=EntityRef(key=key),
        relations=relation or (),
        direction=direction(way),
        at=time_point(as_of, known_at),
    )
    with connected(target, data) as connection:
        found = list(items_of(connection.client.reader.ListNeighbors, request, "neighbors", limit))
    if as_json:
        for neighbour in found:
            say_json(neighbour)
    elif found:
        say(key, "bold")
        say_table(("weight", "edge", "neighbour", "by", "title"), map(_row, found))
    if not found:
        note("No neighbours.")
        raise typer.Exit(ExitCode.NOTHING)


def _row(neighbour: Neighbor) -> tuple[str, ...]:
    step, entity = neighbour.step, neighbour.entity
    return (f"{step.weight:.2f}", step_arrow(step), entity.natural_key, step.fact_id or "link", entity.title)
