"""`palimpsest purge`, `redact` and `receipt`: what was said is erased, and what was erased is told."""

import sys
from typing import Annotated

import typer
from palimpsest.v1.governance_pb2 import ErasureReceipt, ErasureSelector
from palimpsest.v1.reader_service_pb2 import GetErasureReceiptRequest
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity, TypedId
from palimpsest.v1.writer_service_pb2 import PurgeRequest, RedactObservationRequest

from cli.commands.obsolete import Reason
from cli.failure import ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, say, say_json, say_table, when

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be erased.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

_SCRUB = "Row versions that are dead by now stay in the database's files until 'palimpsest scrub', or autovacuum."


def purge(
    namespace: Namespace = "default",
    subject: Annotated[str | None, typer.Option("--subject", metavar="TYPE:ID", help="All about a subject.")] = None,
    entity: Annotated[str | None, typer.Option("--entity", metavar="KEY", help="All about one entity.")] = None,
    observation: Annotated[str | None, typer.Option("--observation", metavar="ID", help="One observation.")] = None,
    system: Annotated[str | None, typer.Option("--system", help="All that came from this system.")] = None,
    stream: Annotated[str, typer.Option("--stream", help="Only from this stream of the system.")] = "",
    external_id: Annotated[str, typer.Option("--external-id", help="Only this event of the stream.")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Erase for good what is selected, from everywhere, and print the receipt. What others said stays.

    What mentions the selection in free text only, without being linked to it, is not found.
    """
    selector = _selector(subject, entity, observation, system, stream, external_id)
    request = PurgeRequest(namespace=namespace, selector=selector, reason=reason, dry_run=True)
    with connected(target, data) as connection:
        if dry_run or not yes:
            receipt = connection.client.writer.Purge(request).receipt
        if not dry_run:
            if not yes:
                confirm(receipt.counts["observations"], "observations would be erased for good")
            request.dry_run = False
            receipt = connection.client.writer.Purge(request).receipt
    _say_receipt(receipt, as_json)
    if not dry_run:
        note(_SCRUB)
    if not receipt.counts["observations"]:
        raise typer.Exit(ExitCode.NOTHING)


def redact(
    observation: Annotated[str, typer.Argument(help="Id of an observation.")],
    namespace: Namespace = "default",
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Empty an observation. Its identity stays, and with it that it was there; what rested on it alone is gone."""
    request = RedactObservationRequest(namespace=namespace, observation_id=observation, reason=reason)
    with connected(target, data) as connection:
        receipt = connection.client.writer.RedactObservation(request).receipt
    _say_receipt(receipt, as_json)


def receipt(
    receipt: Annotated[str, typer.Argument(help="Id of a receipt.")],
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show the receipt of an erasure."""
    with connected(target, data) as connection:
        request = GetErasureReceiptRequest(namespace=namespace, receipt_id=receipt)
        found = connection.client.reader.GetErasureReceipt(request).receipt
    _say_receipt(found, as_json)


def _selector(
    subject: str | None,
    entity: str | None,
    observation: str | None,
    system: str | None,
    stream: str,
    external_id: str,
) -> ErasureSelector:
    if sum(each is not None for each in (subject, entity, observation, system)) != 1:
        raise Failure("select by one of --subject, --entity, --observation and --system", ExitCode.USAGE)
    if system is None and (stream or external_id):
        raise Failure("--stream and --external-id: need --system", ExitCode.USAGE)
    if subject is not None:
        kind, colon, name = subject.partition(":")
        if not colon:
            raise Failure("--subject: must be TYPE:ID", ExitCode.USAGE)
        return ErasureSelector(subject=TypedId(type=kind, id=name))
    if entity is not None:
        return ErasureSelector(entity=EntityRef(key=entity))
    if observation is not None:
        return ErasureSelector(observation_id=observation)
    return ErasureSelector(source=SourceIdentity(system=system, stream=stream, external_id=external_id))


def confirm(number: int, what: str) -> None:
    """Asks, on a terminal. Raises Failure where nobody is asked, or says no."""
    if not number:
        return
    if not sys.stdin.isatty():
        raise Failure(f"{number} {what}: say --yes, or look at it with --dry-run", ExitCode.USAGE)
    if not typer.confirm(f"{number} {what}. Go on?"):
        raise Failure("nothing was erased")


def _say_receipt(receipt: ErasureReceipt, as_json: bool) -> None:
    if as_json:
        say_json(receipt)
        return
    if receipt.receipt_id:
        say(f"{receipt.receipt_id}, {when(receipt.erased_at)}", "bold")
    rows = [(name, str(number)) for name, number in sorted(receipt.counts.items()) if number]
    if rows:
        say_table(("erased" if receipt.receipt_id else "would be erased", "rows"), rows)
    else:
        say("Nothing was erased." if receipt.receipt_id else "Nothing would be erased.")
