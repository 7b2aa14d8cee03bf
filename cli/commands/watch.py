"""`palimpsest watch`: what changes, as it does."""

from typing import Annotated

import grpc
import typer
from palimpsest.v1.reader_service_pb2 import WatchResponse
from palimpsest.v1.retrieval_pb2 import Change, ChangeType, ItemKind

from cli.failure import failure_of
from cli.options import Data, Json, Target, connected
from cli.output import note, one_line, say, say_json, when

_MARKS = {
    ChangeType.CHANGE_TYPE_ADDED: ("+", "green"),
    ChangeType.CHANGE_TYPE_CHANGED: ("~", ""),
    ChangeType.CHANGE_TYPE_REMOVED: ("-", "red"),
}
_LONGEST = 120


def watch(
    namespace: Annotated[str, typer.Argument(help="The namespace.")] = "default",
    cursor: Annotated[str, typer.Option("--cursor", help="Go on behind it; else from now on.")] = "",
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", help="A label, type:id: without what lies elsewhere.")
    ] = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Print changes of observations, entities and facts until interrupted, each with what is then stored.

    With --json a line is a message as it came, with its cursor; else the last cursor is told at the end. While no
    reader answers it tries again, and says so.
    """
    with connected(target, data) as connection:

        def tell(error: grpc.RpcError) -> None:
            note(f"{failure_of(error, connection.endpoints.reader)}; trying again until it answers", "yellow")

        latest = ""
        try:
            for response in connection.client.watch(namespace, cursor=cursor, on_cut=tell, scopes=scopes or ()):
                _say(response, as_json=as_json)
                latest = response.cursor
        finally:
            if latest and not as_json:
                note(f"go on with --cursor {latest}")


def _say(response: WatchResponse, *, as_json: bool) -> None:
    if as_json:
        say_json(response)
        return
    for change in response.changes:
        mark, style = _MARKS[change.type]
        say(f"{mark} {when(change.committed_at)} {_words(change)}", style)


def _words(change: Change) -> str:
    name = change.item_id or f"one that was erased ({change.erased_key_hash or 'unknown'})"
    kind = ItemKind.Name(change.item_kind).removeprefix("ITEM_KIND_").lower() if change.item_kind else "observation"
    return one_line(f"{kind} {name}  {_text(change)}", _LONGEST)


def _text(change: Change) -> str:
    if change.HasField("fact"):
        return change.fact.sentence
    if change.HasField("entity"):
        return change.entity.title
    return change.observation.observation.content
