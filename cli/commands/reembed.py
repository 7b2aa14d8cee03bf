"""`palimpsest reembed`: changes the embedding model without downtime (EM-5)."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

import grpc
import typer
from palimpsest.client import Client
from palimpsest.errors import details_of
from palimpsest.v1.governance_pb2 import (
    EMBEDDING_SPACE_STATE_ACTIVE,
    EMBEDDING_SPACE_STATE_BUILDING,
    EmbeddingSpace,
    EmbeddingSpaceState,
)
from palimpsest.v1.writer_service_pb2 import (
    DropEmbeddingRequest,
    GetEmbeddingStatusRequest,
    GetEmbeddingStatusResponse,
    RollbackEmbeddingRequest,
    StartReembeddingRequest,
    SwitchEmbeddingRequest,
)
from rich.progress import Progress

from cli.commands.health import age, mismatch
from cli.failure import EXIT_CODES_HELP, ExitCode, Failure
from cli.options import Data, Json, Target, connected
from cli.output import note, progress, say, say_json, say_table, when

reembed = typer.Typer(
    help="Change the embedding model: build its vectors beside the old ones, switch, go back, drop.\n\n"
    "Serve the new model beside the old one ('palimpsest up --embedder ADDRESS', or a list of addresses in "
    "PALIMPSEST_EMBEDDING_TARGET and PALIMPSEST_READER_EMBEDDER_TARGET); then 'start', 'switch', and 'drop' the old "
    "ones. Searches and writes go on all the while.",
    no_args_is_help=True,
)

_POLL_S = 1.0
_CHANGE_TIMEOUT_S = 60.0

_STATES = {
    "ACTIVE": "these vectors are the ones that are searched",
    "WAITING": "texts still wait for their vectors: 'palimpsest reembed status' tells how many, --wait waits for them",
    "NOT_SWITCHED": "there is nothing to go back to: nothing was switched, or it was dropped",
}

Wait = Annotated[bool, typer.Option("--wait", help="Wait until no text waits for its vector.")]


@reembed.command("start", epilog=EXIT_CODES_HELP)
def start(
    fingerprint: Annotated[
        str, typer.Argument(help="Of the model; without it, of the one that is served and not searched yet.")
    ] = "",
    wait: Wait = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Begin to build vectors of another model, which an embedder serves. Searches go on with the old ones."""
    with connected(target, data) as connection, _explained():
        writer = connection.client.writer
        request = StartReembeddingRequest(fingerprint=fingerprint)
        space = writer.StartReembedding(request, timeout=_CHANGE_TIMEOUT_S).space
        if wait:
            space = _until_whole(connection.client, space.fingerprint)
    _show(space, "is built" if space.waiting else "is whole", as_json=as_json)


@reembed.command("status", epilog=EXIT_CODES_HELP)
def status(target: Target = None, data: Data = None, as_json: Json = False) -> None:
    """Show whose vectors there are, which are searched, and how many texts wait for one."""
    with connected(target, data) as connection:
        found = _status(connection.client)
    if as_json:
        say_json(found)
        return
    served = set(found.served_fingerprints)
    say_table(
        ("fingerprint", "model", "dimension", "state", "vectors", "wait", "set aside", "served", "since"),
        (_row(space, is_served=space.fingerprint in served) for space in found.spaces),
    )
    for other in served - {space.fingerprint for space in found.spaces}:
        note(f"{other} is served and has no vectors: palimpsest reembed start {other}")
    if found.mismatch:
        active = next(space.fingerprint for space in found.spaces if space.state == EMBEDDING_SPACE_STATE_ACTIVE)
        note(f"Searches go by words: {mismatch(active, found.served_fingerprints)}", "yellow")
    if not served:
        note("No embedder answers: what is written waits, and is found by words.", "yellow")


@reembed.command("switch", epilog=EXIT_CODES_HELP)
def switch(
    fingerprint: Annotated[str, typer.Argument(help="Of the vectors; without it, of the ones that are built.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Though texts wait: they are found by words alone.")] = False,
    wait: Wait = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Search by the vectors that were built, all at once. Can be undone until the old ones are dropped."""
    with connected(target, data) as connection, _explained():
        chosen = fingerprint or _built(_status(connection.client).spaces)
        request = SwitchEmbeddingRequest(fingerprint=chosen, force=force)
        space = _switched(connection.client, request, wait=wait)
    _show(space, "is searched from now on", as_json=as_json)


@reembed.command("rollback", epilog=EXIT_CODES_HELP)
def rollback(target: Target = None, data: Data = None, as_json: Json = False) -> None:
    """Search by the former vectors again."""
    with connected(target, data) as connection, _explained():
        request = RollbackEmbeddingRequest()
        space = connection.client.writer.RollbackEmbedding(request, timeout=_CHANGE_TIMEOUT_S).space
    _show(space, "is searched again", as_json=as_json)


@reembed.command("drop", epilog=EXIT_CODES_HELP)
def drop(
    fingerprint: Annotated[str, typer.Argument(help="Of the vectors.")],
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Drop vectors that are not searched. They can only be built anew."""
    with connected(target, data) as connection, _explained():
        request = DropEmbeddingRequest(fingerprint=fingerprint)
        response = connection.client.writer.DropEmbedding(request, timeout=_CHANGE_TIMEOUT_S)
    if as_json:
        say_json(response)
    else:
        say(f"{fingerprint}: {response.dropped} vectors dropped")


@contextmanager
def _explained() -> Iterator[None]:
    """Says of a state that does not allow the change what it is."""
    try:
        yield
    except grpc.RpcError as error:
        state = _state_of(error)
        if state not in _STATES:
            raise
        raise Failure(_STATES[state]) from None


def _state_of(error: grpc.RpcError) -> str:
    """What did not allow a change; empty where it failed otherwise."""
    return details_of(error).metadata.get("state", "")


def _status(client: Client) -> GetEmbeddingStatusResponse:
    found: GetEmbeddingStatusResponse = client.writer.GetEmbeddingStatus(
        GetEmbeddingStatusRequest(), timeout=_CHANGE_TIMEOUT_S
    )
    return found


def _switched(client: Client, request: SwitchEmbeddingRequest, *, wait: bool) -> EmbeddingSpace:
    """The space that is searched from now on; `wait`: once all texts have their vectors in it."""
    with progress("Vectors", None) as bar:
        while True:
            try:
                space: EmbeddingSpace = client.writer.SwitchEmbedding(request, timeout=_CHANGE_TIMEOUT_S).space
                return space
            except grpc.RpcError as error:
                if not wait or _state_of(error) != "WAITING":
                    raise
            _tell(bar, _space(client, request.fingerprint))
            time.sleep(_POLL_S)


def _space(client: Client, fingerprint: str) -> EmbeddingSpace:
    space = next((each for each in _status(client).spaces if each.fingerprint == fingerprint), None)
    if space is None:
        raise Failure(f"there are no vectors of {fingerprint}: palimpsest reembed start", ExitCode.NOTHING)
    return space


def _tell(bar: Progress, space: EmbeddingSpace) -> None:
    bar.update(bar.task_ids[0], total=space.vectors + space.waiting, completed=space.vectors)


def _built(spaces: Iterable[EmbeddingSpace]) -> str:
    found = [space.fingerprint for space in spaces if space.state == EMBEDDING_SPACE_STATE_BUILDING]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Failure("no vectors are built beside those that are searched: palimpsest reembed start", ExitCode.NOTHING)
    raise Failure(f"vectors of several models are built: name one of {', '.join(found)}", ExitCode.USAGE)


def _until_whole(client: Client, fingerprint: str) -> EmbeddingSpace:
    """The space, once no text waits in it. Interrupting it stops nothing but the waiting."""
    with progress("Vectors", None) as bar:
        while True:
            space = _space(client, fingerprint)
            _tell(bar, space)
            if not space.waiting:
                return space
            time.sleep(_POLL_S)


def _show(space: EmbeddingSpace, what: str, *, as_json: bool) -> None:
    if as_json:
        say_json(space)
        return
    say(f"{space.fingerprint} ({space.model}, {space.dimension} dimensions) {what}")
    say(f"{space.vectors} vectors, {space.waiting} texts wait, {space.poisoned} set aside")


def _row(space: EmbeddingSpace, *, is_served: bool) -> tuple[str, ...]:
    name = EmbeddingSpaceState.Name(space.state).removeprefix("EMBEDDING_SPACE_STATE_").lower()
    waiting = f"{space.waiting} (since {age(space.oldest_age_s)})" if space.waiting else "0"
    served = "yes" if is_served else "no"
    numbers = (str(space.vectors), waiting, str(space.poisoned))
    return (space.fingerprint, space.model, str(space.dimension), name, *numbers, served, when(space.created_at))
