"""`palimpsest history`: what happened to a fact."""

from typing import Annotated

import typer
from palimpsest.v1.fact_pb2 import FactEvent, FactEventType
from palimpsest.v1.reader_service_pb2 import GetFactHistoryRequest

from cli.failure import ExitCode
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, say_json, say_table, when
from cli.pages import items_of


def history(
    fact: Annotated[str, typer.Argument(help="Id of a fact, e.g. fact-5d2a873c53a413714a13f84d.")],
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most events.")] = 200,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show a fact's whole history: asserted, reinforced, closed, superseded, marked, restored."""
    request = GetFactHistoryRequest(namespace=namespace, fact_id=fact)
    with connected(target, data) as connection:
        events = list(items_of(connection.client.reader.GetFactHistory, request, "events", limit))
    if as_json:
        for event in events:
            say_json(event)
    elif events:
        say_table(("when", "what", "by", "why", "statement"), map(_row, events))
    if not events:
        note("No history.")
        raise typer.Exit(ExitCode.NOTHING)


def _row(event: FactEvent) -> tuple[str, ...]:
    what = FactEventType.Name(event.type).removeprefix("FACT_EVENT_TYPE_").lower().replace("_", " ")
    cause = event.other_fact_id or event.observation_id
    return (when(event.recorded_at), what, cause, event.reason, event.fact.sentence)
