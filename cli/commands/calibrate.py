"""`palimpsest calibrate`: finds the threshold below which nothing is relevant, and stores it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from palimpsest.client import Client
from palimpsest.v1.reader_service_pb2 import GetNamespaceRequest, SearchRequest
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.retrieval_pb2 import SearchFilter
from palimpsest.v1.writer_service_pb2 import UpdateNamespaceSettingsRequest

from cli.calibration.questions import Question, labelled, sampled
from cli.calibration.trade import Trade, curve, recommended, trade
from cli.failure import ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, progress, say, say_json, say_table

_LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
# Fewer of a kind say next to nothing about shares of a few of a hundred.
_FEWEST = 5
_FEW = 100


@dataclass(frozen=True)
class _Scored:
    """Relevance of the questions of both kinds, and what it was judged by."""

    answerable: list[float]
    unanswerable: list[float]
    fingerprint: str
    threshold: float
    """The one in force."""

    @property
    def name(self) -> str:
        """The name of the threshold in the namespace's tuning."""
        return f"abstention_threshold.{self.fingerprint or 'words'}"


def calibrate(
    questions: Annotated[
        Path | None,
        typer.Argument(
            help="File of JSON lines with `text` and `answerable`, and `namespace` where they are of several; may be "
            "gzipped. Without it questions are made of what is stored.",
            show_default=False,
        ),
    ] = None,
    namespace: Namespace = "default",
    most_false: Annotated[
        float, typer.Option("--false", min=0, max=1, help="Most false answers, as a share of the unanswerable.")
    ] = 0.01,
    most_lost: Annotated[
        float, typer.Option("--lost", min=0, max=1, help="Most lost answers, as a share of the answerable.")
    ] = 0.05,
    sample: Annotated[int, typer.Option("--sample", min=_FEWEST, max=2_000, help="Texts to make questions of.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Chooses which.")] = 0,
    apply: Annotated[bool, typer.Option("--apply", help="Store the recommended threshold in the namespace.")] = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Find the threshold of relevance: what it costs in false answers and in lost ones, and which to take.

    It holds for the model that is served, and is stored under its fingerprint.
    """
    with connected(target, data) as connection:
        client = connection.client
        asked = labelled(questions, namespace) if questions else sampled(client, namespace, sample, seed)
        scored = _scored(client, namespace, asked)
        best = recommended(
            scored.answerable, scored.unanswerable, scored.threshold, most_false=most_false, most_lost=most_lost
        )
        if apply:
            _store(client, namespace, scored.name, best.threshold)
    if as_json:
        say_json(_as_json(scored, best, is_stored=apply))
    else:
        _show(scored, best, is_stored=apply)
        _warn(scored, best, is_sampled=questions is None, most_false=most_false)


def _scored(client: Client, namespace: str, asked: Sequence[Question]) -> _Scored:
    kinds = [question.is_answerable for question in asked]
    if min(kinds.count(True), kinds.count(False)) < _FEWEST:
        raise Failure(
            f"{kinds.count(True)} answerable and {kinds.count(False)} unanswerable questions: "
            f"at least {_FEWEST} of each are needed",
            ExitCode.NOTHING,
        )
    scores: dict[bool, list[float]] = {True: [], False: []}
    fingerprints: set[str] = set()
    threshold = 0.0
    with progress("Searches", len(asked)) as bar:
        for question in asked:
            response = client.reader.Search(_search(namespace, question))
            if response.degraded:
                raise Failure("vectors took no part in a search: see 'palimpsest status', then try again")
            scores[question.is_answerable].append(response.relevance.score)
            if response.relevance.HasField("top_cosine"):
                fingerprints.add(response.fingerprint)
            threshold = max(threshold, response.relevance.threshold)
            bar.advance(bar.task_ids[0])
    if len(fingerprints) > 1:
        raise Failure("the model was changed meanwhile: try again")
    return _Scored(scores[True], scores[False], next(iter(fingerprints), ""), threshold)


def _search(namespace: str, question: Question) -> SearchRequest:
    entities = [EntityRef(key=key) for key in question.entity_keys]
    return SearchRequest(
        namespace=namespace, query=question.text, limit=1, keep_irrelevant=True, filter=SearchFilter(entities=entities)
    )


def _store(client: Client, namespace: str, name: str, threshold: float) -> None:
    stored = client.reader.GetNamespace(GetNamespaceRequest(namespace=namespace)).namespace
    stored.settings.tuning[name] = threshold
    client.writer.UpdateNamespaceSettings(
        UpdateNamespaceSettingsRequest(
            namespace=namespace,
            settings=stored.settings,
            expected_version=stored.settings_version,
            reason="palimpsest calibrate",
        )
    )


def _as_json(scored: _Scored, best: Trade, *, is_stored: bool) -> dict[str, object]:
    return {
        "tuning": scored.name,
        "answerable": len(scored.answerable),
        "unanswerable": len(scored.unanswerable),
        "curve": [asdict(each) for each in curve(scored.answerable, scored.unanswerable, _LOSSES)],
        "in_force": asdict(trade(scored.answerable, scored.unanswerable, scored.threshold)),
        "recommended": asdict(best),
        "stored": is_stored,
    }


def _show(scored: _Scored, best: Trade, *, is_stored: bool) -> None:
    say(f"{len(scored.answerable)} answerable and {len(scored.unanswerable)} unanswerable questions")
    in_force = trade(scored.answerable, scored.unanswerable, scored.threshold)
    rows = [_row(each, "") for each in curve(scored.answerable, scored.unanswerable, _LOSSES)]
    say_table(
        ("threshold", "false answers", "lost", ""), [*rows, _row(in_force, "in force"), _row(best, "recommended")]
    )
    verb = "Stored" if is_stored else "To store it, add --apply"
    say(f"{verb}: {scored.name} = {best.threshold:.6f}")


def _row(each: Trade, remark: str) -> tuple[str, str, str, str]:
    return f"{each.threshold:.6f}", f"{each.false_answers:.1%}", f"{each.lost:.1%}", remark


def _warn(scored: _Scored, best: Trade, *, is_sampled: bool, most_false: float) -> None:
    if best.false_answers > most_false:
        note("No threshold keeps both: the recommended one has more false answers than asked for.", "yellow")
    if min(len(scored.answerable), len(scored.unanswerable)) < _FEW:
        note("Few questions: the shares are rough.", "yellow")
    if is_sampled:
        note("The questions are words of what is stored: real ones are harder, and more of them are lost.", "yellow")
