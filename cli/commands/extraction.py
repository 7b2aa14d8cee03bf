"""`palimpsest extraction`: what waits for facts to be extracted, and what was given up."""

from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import GetExtractionQueueRequest
from palimpsest.v1.writer_service_pb2 import RetryExtractionRequest

from cli.commands.health import age
from cli.failure import EXIT_CODES_HELP
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import say, say_json, say_table

extraction = typer.Typer(help="See the queue of extraction, and put back what was given up.", no_args_is_help=True)


@extraction.command("status", epilog=EXIT_CODES_HELP)
def status(namespace: Namespace = "default", target: Target = None, data: Data = None, as_json: Json = False) -> None:
    """Show how many captured messages wait for extraction, since when, and which were given up."""
    with connected(target, data) as connection:
        request = GetExtractionQueueRequest(namespace=namespace)
        queue = connection.client.reader.GetExtractionQueue(request).queue
    if as_json:
        say_json(queue)
        return
    since = f", the oldest for {age(queue.oldest_age_s)}" if queue.depth else ""
    say(f"Extraction: {queue.depth:,} messages wait{since}; {queue.dead_letters:,} were given up")
    if queue.dead_letter_errors:
        say_table(("observation", "what went wrong last"), sorted(queue.dead_letter_errors.items()))


@extraction.command("retry", epilog=EXIT_CODES_HELP)
def retry(
    observations: Annotated[
        list[str] | None, typer.Argument(metavar="[OBSERVATION]...", help="Ids of messages that were given up.")
    ] = None,
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Let messages that were given up wait again: those that are named, or all."""
    request = RetryExtractionRequest(namespace=namespace, observation_ids=observations or [])
    with connected(target, data) as connection:
        response = connection.client.writer.RetryExtraction(request)
    if as_json:
        say_json(response)
    else:
        say(f"Extraction: {response.requeued:,} messages wait again")
