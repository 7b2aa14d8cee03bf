"""`palimpsest capture`: turns of conversations from JSON lines."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import IO, Annotated

import typer
from palimpsest.client import Client
from palimpsest.v1.governance_pb2 import CapturedMessage, CaptureResult
from palimpsest.v1.writer_service_pb2 import CaptureMessagesRequest, CaptureMessagesResponse

from cli.commands.record import opened
from cli.failure import ExitCode, describe_item_error
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, say, say_json
from cli.sources.observation_json import RefusedLine, parse_captured

# One call's worth: short enough to be within anybody's deadline.
_MESSAGES_A_CALL = 200
_CALL_TIMEOUT_S = 120.0
_MOST_REASONS = 100


@dataclass(frozen=True)
class Turn:
    """A message of a line, or why the line was refused."""

    line: int
    conversation: str
    message: CapturedMessage | None
    refusal: str = ""


def capture(
    file: Annotated[str, typer.Argument(help="File of JSON lines; - is standard input.")] = "-",
    conversation: Annotated[
        str, typer.Option("--conversation", help="Id of the conversation of lines that name none.")
    ] = "",
    system: Annotated[str, typer.Option("--system", help="The system that the conversations were held in.")] = "chat",
    label: Annotated[list[str] | None, typer.Option("--label", help="Visibility label, e.g. workspace:core.")] = None,
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Take in turns of conversations, one JSON object a line.

    A line holds the fields of a CapturedMessage as protobuf JSON, and may name its own "conversation_id". Times need an
    offset. What the memory itself had said, blocks of services and secrets are taken out. Messages of authors among the
    namespace's capture_authors become evidence of what they said. Running it again stores nothing twice.
    """
    request = CaptureMessagesRequest(namespace=namespace, system=system, scopes=label or [])
    told: Counter[str] = Counter()
    with opened(file) as lines, connected(target, data) as connection:
        for turn, result in _captured(connection.client, request, read_turns(lines, conversation)):
            _tell(turn, result, told, as_json=as_json)
    if not as_json:
        say(_summary(told))
    refused, all_lines = told["refused"], told["lines"]
    if refused:
        raise typer.Exit(ExitCode.FAILED if refused == all_lines else ExitCode.PARTIAL)


def read_turns(lines: IO[bytes], conversation: str) -> Iterator[Turn]:
    """The message of each line that is not blank."""
    for number, raw in enumerate(lines, start=1):
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not line.strip():
            continue
        try:
            named, message = parse_captured(line, conversation)
        except RefusedLine as refusal:
            yield Turn(number, conversation, None, str(refusal))
        else:
            yield Turn(number, named, message)


def _captured(
    client: Client, head: CaptureMessagesRequest, turns: Iterable[Turn]
) -> Iterator[tuple[Turn, CaptureResult | None]]:
    for conversation, held in groupby(turns, key=lambda turn: turn.conversation):
        while batch := list(islice(held, _MESSAGES_A_CALL)):
            request = CaptureMessagesRequest()
            request.CopyFrom(head)
            request.conversation_id = conversation
            request.messages.extend(turn.message for turn in batch if turn.message is not None)
            results = iter(_sent(client, request) if request.messages else ())
            for turn in batch:
                yield turn, next(results) if turn.message is not None else None


def _sent(client: Client, request: CaptureMessagesRequest) -> Iterable[CaptureResult]:
    response: CaptureMessagesResponse = client.writer.CaptureMessages(request, timeout=_CALL_TIMEOUT_S)
    return response.results


def _tell(turn: Turn, result: CaptureResult | None, told: Counter[str], *, as_json: bool) -> None:
    refusal = turn.refusal
    if result is not None and result.HasField("error"):
        refusal = describe_item_error(result.error, "")
    told["lines"] += 1
    told[_fate(result, refusal)] += 1
    if refusal and told["refused"] <= _MOST_REASONS:
        note(f"line {turn.line}: {refusal}", "red")
    if result is not None:
        told["queued"] += result.queued
        told["blocks"] += result.stripped_blocks
        told["secrets"] += result.scrubbed_secrets
        if as_json:
            say_json(result)


def _fate(result: CaptureResult | None, refusal: str) -> str:
    if refusal or result is None:
        return "refused"
    if result.empty:
        return "empty"
    return "known" if result.duplicate else "stored"


def _summary(told: Counter[str]) -> str:
    return (
        f"Messages: {told['stored']:,} stored, {told['known']:,} known before, "
        f"{told['empty']:,} with nothing of their own, {told['refused']:,} refused; "
        f"{told['queued']:,} queued for extraction, {told['blocks']:,} blocks and {told['secrets']:,} secrets taken out"
    )
