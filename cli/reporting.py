"""Tells the user what became of the items of a command, as they are stored."""

from collections.abc import Iterable, Iterator

import typer
from google.protobuf.json_format import MessageToDict

from cli.failure import ExitCode
from cli.output import note, progress, say, say_json
from cli.recording import Fate, Outcome, Tally

MOST_REASONS = 100


def report(outcomes: Iterable[Outcome], *, what: str, total: int | None, as_json: bool) -> None:
    """Shows progress and refusals, then the summary. Raises `typer.Exit` with the code that the outcomes deserve."""
    leave(show(outcomes, what=what, total=total, as_json=as_json))


def leave(tally: Tally) -> None:
    """Raises `typer.Exit` with the code that the outcomes deserve, unless all went well."""
    if tally.exit_code() is not ExitCode.OK:
        raise typer.Exit(tally.exit_code())


def show(outcomes: Iterable[Outcome], *, what: str, total: int | None, as_json: bool) -> Tally:
    """Shows progress and refusals, then the summary, and answers what it says."""
    tally = Tally()
    with progress(what, total) as bar:
        for outcome in _told(outcomes, as_json):
            tally.add(outcome)
            bar.advance(bar.task_ids[0])
    if as_json:
        say_json({"summary": {fate.value: tally.counts[fate] for fate in Fate}})
    else:
        say(f"{what}: {tally}")
    return tally


def _told(outcomes: Iterable[Outcome], as_json: bool) -> Iterator[Outcome]:
    """The outcomes, each told of: all as JSON, else those that were refused, of which the first hundred."""
    told = 0
    for outcome in outcomes:
        if as_json:
            say_json(_fields(outcome))
        elif outcome.reason:
            told += 1
            if told <= MOST_REASONS:
                note(f"{outcome.label}: {outcome.reason}", "red")
            elif told == MOST_REASONS + 1:
                note("more were refused; they are counted below, and listed with --json", "red")
        yield outcome


def _fields(outcome: Outcome) -> dict[str, object]:
    result = MessageToDict(outcome.result, preserving_proto_field_name=True) if outcome.result else {}
    reason = {"reason": outcome.reason} if outcome.reason else {}
    return {"item": outcome.label, "outcome": outcome.fate.value, **reason, **result}
