"""`palimpsest obsolete`: marks what no longer holds, and takes such marks back."""

import re
from typing import Annotated, Any

import typer
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2 import MarkObsoleteRequest, UnmarkObsoleteRequest

from cli.failure import ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import say, say_json

Reason = Annotated[str, typer.Option("--reason", help="Why, for people and the audit.")]

_FACT_ID = re.compile(r"fact-[0-9a-f]{24}")


def obsolete(
    item: Annotated[str, typer.Argument(help="Id of a fact, the whole text of a statement, or with --entity a key.")],
    namespace: Namespace = "default",
    entity: Annotated[bool, typer.Option("--entity", help="ITEM is the key of an entity or record.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the mark back.")] = False,
    evidence: Annotated[
        list[str] | None, typer.Option("--evidence", metavar="OBSERVATION", help="Shows it; may be repeated.")
    ] = None,
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Mark a fact, record or statement obsolete, or take the mark back.

    A text must be the whole of exactly one statement: what only resembles it is never marked.
    """
    meant = _meant(item, entity)
    if undo and "exact_text" in meant:
        raise Failure("--undo: takes the id of a fact, or a key with --entity", ExitCode.USAGE)
    with connected(target, data) as connection:
        writer = connection.client.writer
        response: Any
        if undo:
            response = writer.UnmarkObsolete(UnmarkObsoleteRequest(namespace=namespace, reason=reason, **meant))
        else:
            request = MarkObsoleteRequest(
                namespace=namespace, reason=reason, evidence_observation_ids=evidence or (), **meant
            )
            response = writer.MarkObsolete(request)
    if as_json:
        say_json(response)
    elif undo:
        say("The mark is taken back." if response.changed else "There was no mark.")
    else:
        say(f"{response.item_id} is obsolete" + (" already." if response.already else "."))


def _meant(item: str, entity: bool) -> dict[str, Any]:
    if entity:
        return {"entity": EntityRef(key=item)}
    return {"fact_id": item} if _FACT_ID.fullmatch(item) else {"exact_text": item}
