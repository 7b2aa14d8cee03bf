"""`palimpsest reconcile`: a source's complete current state, from JSON lines."""

from collections.abc import Iterator
from typing import IO, Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.writer_service_pb2 import (
    ReconcileSnapshotRequest,
    ReconcileSnapshotResponse,
    SnapshotHead,
    SnapshotItem,
    SnapshotItems,
)

from cli.commands.record import opened
from cli.failure import ExitCode, Failure, describe_item_error
from cli.options import Data, Json, Namespace, Target, connected, moment
from cli.output import note, say, say_json
from cli.sources.observation_json import RefusedLine, parse_message

# Of one message; the server takes 32 MiB and 10,000 items.
_MOST_BYTES = 4 * 1024 * 1024
_MOST_ITEMS = 1_000


def reconcile(
    file: Annotated[str, typer.Argument(help="File of JSON lines, each an item; - is standard input.")],
    source: Annotated[str, typer.Option("--source", help="The source's system.")],
    scope: Annotated[str, typer.Option("--scope", help="The part of the source that the file is complete for.")],
    snapshot: Annotated[
        str | None, typer.Option("--snapshot", metavar="ID", help="The snapshot's id. [default: the moment]")
    ] = None,
    taken_at: Annotated[
        str | None, typer.Option("--taken-at", metavar="TIME", help="When the state was taken. [default: now]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Send a source's complete current state: what is new is asserted, what is gone is closed, the rest stays.

    A line holds the fields of a SnapshotItem as protobuf JSON. One wrong line ends the command before anything is sent:
    in an incomplete state, what it lacks would count as gone.
    """
    taken = moment(taken_at, "--taken-at") or _now()
    with opened(file) as lines:
        items = list(read_items(lines))
    head = SnapshotHead(
        namespace=namespace,
        source=source,
        scope=scope,
        snapshot_id=snapshot or taken.ToJsonString(),
        taken_at=taken,
        dry_run=dry_run,
    )
    with connected(target, data) as connection:
        response = connection.client.writer.ReconcileSnapshot(_requests(head, items))
    if as_json:
        say_json(response)
    else:
        _show(response)
    if response.errors:
        raise typer.Exit(ExitCode.PARTIAL)


def read_items(lines: IO[bytes]) -> Iterator[SnapshotItem]:
    """The item of each line that is not blank. Raises Failure with the number and the wrong fields of a line."""
    for number, raw in enumerate(lines, start=1):
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if line.strip():
            try:
                yield parse_message(line, SnapshotItem)
            except RefusedLine as refusal:
                raise Failure(f"line {number}: {refusal}; nothing was sent", ExitCode.USAGE) from None


def _requests(head: SnapshotHead, items: list[SnapshotItem]) -> Iterator[ReconcileSnapshotRequest]:
    yield ReconcileSnapshotRequest(head=head)
    part, size = list[SnapshotItem](), 0
    for item in items:
        if part and (size + item.ByteSize() > _MOST_BYTES or len(part) == _MOST_ITEMS):
            yield ReconcileSnapshotRequest(items=SnapshotItems(items=part))
            part, size = [], 0
        part.append(item)
        size += item.ByteSize()
    if part:
        yield ReconcileSnapshotRequest(items=SnapshotItems(items=part))


def _show(response: ReconcileSnapshotResponse) -> None:
    for error in response.errors:
        note(describe_item_error(error), "red")
    say(
        f"{'Would be' if response.dry_run else 'Reconciled'}: {response.added} added, {response.changed} changed, "
        f"{response.removed} removed, {response.unchanged} unchanged; "
        f"facts: {response.facts_asserted} asserted, {response.facts_closed} closed"
    )


def _now() -> Timestamp:
    stamp = Timestamp()
    stamp.GetCurrentTime()
    return stamp
