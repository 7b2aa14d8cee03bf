"""`palimpsest verify`: holds an answer against a pack, sentence by sentence."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import VerifyRequest
from palimpsest.v1.retrieval_pb2 import (
    VERDICT_CONTRADICTED,
    VERDICT_NOT_IN_MEMORY,
    VERDICT_SUPPORTED,
    Verdict,
    VerifiedSentence,
)

from cli.commands.record import opened
from cli.failure import ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, one_line, say, say_json

_WORDS = {
    VERDICT_SUPPORTED: ("supported", "green"),
    VERDICT_CONTRADICTED: ("contradicted", "red"),
    VERDICT_NOT_IN_MEMORY: ("not in memory", "yellow"),
}
_WIDTH = max(len(word) for word, _ in _WORDS.values())


def verify(
    pack: Annotated[str, typer.Argument(help="Id of a pack, as 'palimpsest context' tells it.")],
    file: Annotated[str, typer.Argument(help="File with the answer; - is standard input.")] = "-",
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Mark each sentence of an answer: supported by the pack, contradicted by it, or not in memory.

    The exit code is 0 where all sentences are supported, 5 where one is contradicted, else 3.
    """
    request = VerifyRequest(namespace=namespace, pack_id=pack, answer=_read(file))
    with connected(target, data) as connection:
        sentences = connection.client.reader.Verify(request).sentences
    if as_json:
        for each in sentences:
            say_json(each)
    else:
        _show(sentences)
    code = exit_code(each.verdict for each in sentences)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def exit_code(verdicts: Iterable[Verdict]) -> ExitCode:
    """What the worst verdict deserves; no verdict at all supports nothing."""
    found = set(verdicts)
    if VERDICT_CONTRADICTED in found:
        return ExitCode.CONTRADICTED
    return ExitCode.OK if found == {VERDICT_SUPPORTED} else ExitCode.NOTHING


def _read(file: str) -> str:
    with opened(file) as stream:
        raw = stream.read()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure(f"{file}: not UTF-8", ExitCode.USAGE) from None


def _show(sentences: Sequence[VerifiedSentence]) -> None:
    if not sentences:
        note("There are no words in the answer.")
        return
    for each in sentences:
        _show_sentence(each)
    counts = Counter(each.verdict for each in sentences)
    say(", ".join(f"{counts[verdict]} {word}" for verdict, (word, _) in _WORDS.items()), "bold")


def _show_sentence(each: VerifiedSentence) -> None:
    word, style = _WORDS[each.verdict]
    cited = f"[{each.item_number}]" if each.item_number else ""
    say(f"{word:{_WIDTH}}  {cited:4} {one_line(each.sentence)}", style)
    if each.quote:
        says = "says" if each.verdict == VERDICT_SUPPORTED else "but says"
        say(f"{'':{_WIDTH}}       {cited} {says}: “{one_line(each.quote)}”", "dim")
