"""`palimpsest retract`: says that a fact ended."""

from typing import Annotated

import typer
from palimpsest.v1.fact_pb2 import FactRetraction
from palimpsest.v1.writer_service_pb2 import RetractFactRequest

from cli.commands.obsolete import Reason
from cli.options import Data, Json, Namespace, Target, connected, moment
from cli.output import say, say_json


def retract(
    fact: Annotated[str, typer.Argument(help="Id of a fact.")],
    namespace: Namespace = "default",
    valid_to: Annotated[
        str | None, typer.Option("--valid-to", metavar="TIME", help="Since when it is no longer true. [default: now]")
    ] = None,
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Say that a fact ended, without a successor. It stays in history."""
    retraction = FactRetraction(fact_id=fact, valid_to=moment(valid_to, "--valid-to"), reason=reason)
    request = RetractFactRequest(namespace=namespace, retraction=retraction)
    with connected(target, data) as connection:
        response = connection.client.writer.RetractFact(request)
    if as_json:
        say_json(response)
    else:
        say(response.fact.sentence or response.observation.observation_id)
