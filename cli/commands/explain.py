"""`palimpsest explain`: why an item is in a pack, or which gate kept it out."""

from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import ExplainRequest, ExplainResponse

from cli.options import Data, Json, Namespace, Target, connected
from cli.output import INDENT, say, say_json
from cli.wording import gate_name, provenance, scores


def explain(
    trace: Annotated[str, typer.Argument(help="Id of a trace, as 'palimpsest context' tells it.")],
    item: Annotated[str, typer.Argument(help="Id of an item: chunk:KEY#N, a fact's id, or an entity's key.")],
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Say why an item is in a compilation's pack, or what kept it out."""
    request = ExplainRequest(namespace=namespace, trace_id=trace, item_id=item)
    with connected(target, data) as connection:
        response = connection.client.reader.Explain(request)
    if as_json:
        say_json(response)
    else:
        _show(item, response)


def _show(item: str, response: ExplainResponse) -> None:
    fate = f"out [{gate_name(response.gate)}]" if response.gate else "in"
    say(f"{item}: {fate}", "bold")
    say(f"{INDENT}{response.explanation}")
    if response.signals:
        say(f"{INDENT}{scores(response.signals)}", "dim")
    for link in response.provenance:
        say(f"{INDENT}from {provenance(link)}", "dim")
