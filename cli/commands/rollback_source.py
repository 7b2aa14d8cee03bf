"""`palimpsest rollback-source`: what a source said from a time on is un-learnt, as a set (AU-4)."""

from typing import Annotated

import typer
from palimpsest.v1.governance_pb2 import RollbackSummary
from palimpsest.v1.writer_service_pb2 import RollbackSourceRequest

from cli.commands.obsolete import Reason
from cli.commands.purge import DryRun, Yes, confirm
from cli.failure import ExitCode
from cli.options import Data, Json, Namespace, Target, connected, moment
from cli.output import say, say_json


def rollback_source(
    system: Annotated[str, typer.Argument(help="System of the source.")],
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="Take back what was recorded at or after this (RFC 3339).")
    ],
    namespace: Namespace = "default",
    stream: Annotated[str, typer.Option("--stream", help="Only this stream; without it, all of the system's.")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Un-learn, as a set, what a source said from a time on, as if it had never said it."""
    request = RollbackSourceRequest(
        namespace=namespace,
        system=system,
        stream=stream,
        recorded_from=moment(since, "--since"),
        reason=reason,
        dry_run=True,
    )
    with connected(target, data) as connection:
        if dry_run or not yes:
            response = connection.client.writer.RollbackSource(request)
        if not dry_run:
            if not yes:
                confirm(response.summary.observations, "observations would be taken back for good")
            request.dry_run = False
            response = connection.client.writer.RollbackSource(request)
    if as_json:
        say_json(response)
    else:
        _say_summary(response.summary, response.receipt.receipt_id)
    if not response.summary.observations:
        raise typer.Exit(ExitCode.NOTHING)


def _say_summary(summary: RollbackSummary, receipt_id: str) -> None:
    if receipt_id:
        say(receipt_id, "bold")
    verb = "taken back" if receipt_id else "would be taken back"
    say(f"{summary.observations} observations {verb}:")
    say(f"{summary.entities} entities and {summary.facts} facts vanish or change, {summary.chunks} chunks vanish")
    for one in summary.sample:
        say(f"   {one}", "dim")
