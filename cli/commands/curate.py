"""`palimpsest curate`: a pass of curation over a namespace."""

from typing import Annotated

import typer
from palimpsest.v1.writer_service_pb2 import RunCurationRequest, RunCurationResponse

from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, progress, say, say_json

# One call's worth: short enough to be within anybody's deadline.
_ITEMS_A_CALL = 2_000


def curate(
    namespace: Namespace = "default",
    max_items: Annotated[
        int | None, typer.Option("--max-items", min=1, max=100_000, help="Look at so many things, then stop.")
    ] = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Run a pass of curation: resolve links that wait, propose duplicates, compute trust, mark what is stale.

    Without --max-items the pass is run whole. One that was interrupted goes on where it ended.
    """
    total = RunCurationResponse()
    request = RunCurationRequest(namespace=namespace, max_items=max_items or _ITEMS_A_CALL)
    with connected(target, data) as connection, progress("Curation", None) as bar:
        while not total.done:
            _add(total, connection.client.writer.RunCuration(request))
            bar.advance(bar.task_ids[0])
            if max_items is not None:
                break
    if as_json:
        say_json(total)
    else:
        _show(total)


def _add(total: RunCurationResponse, part: RunCurationResponse) -> None:
    total.done = part.done
    total.claims_resolved += part.claims_resolved
    total.duplicates_proposed += part.duplicates_proposed
    total.trust_updated += part.trust_updated
    total.marked_stale += part.marked_stale


def _show(total: RunCurationResponse) -> None:
    say(
        f"Curation: {total.claims_resolved} waiting links resolved, {total.duplicates_proposed} duplicates proposed, "
        f"{total.trust_updated} weights changed, {total.marked_stale} marked stale"
    )
    if not total.done:
        note("The pass is not whole yet: run the command again to go on.")
