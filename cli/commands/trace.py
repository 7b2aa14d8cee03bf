"""`palimpsest trace`: what one compilation saw, and what became of each candidate."""

from collections import Counter
from typing import Annotated

import typer
from palimpsest.v1.reader_service_pb2 import GetContextTraceRequest
from palimpsest.v1.retrieval_pb2 import ContextTrace, TracedCandidate

from cli.failure import ExitCode
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, say, say_json, say_table, when
from cli.wording import decided_by, degradations, gate_name, raw_scores, why_empty

_STAGES = ("embed", "retrieve", "fuse", "pack")


def trace(
    trace: Annotated[str, typer.Argument(help="Id of a trace, as 'palimpsest context' tells it.")],
    namespace: Namespace = "default",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most candidates that are shown.")] = 50,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show a compilation: its candidates with scores, the gate that dropped each, and how long it took."""
    with connected(target, data) as connection:
        request = GetContextTraceRequest(namespace=namespace, trace_id=trace)
        found = connection.client.reader.GetContextTrace(request).trace
    if as_json:
        say_json(found)
    else:
        _show(found, limit)
    if not found.candidates:
        raise typer.Exit(ExitCode.NOTHING)


def _show(found: ContextTrace, limit: int) -> None:
    for line in degradations(found.degraded):
        note(line, "yellow")
    say(f"» {found.query}", "bold")
    say(f"{found.pack_id}, compiled {when(found.compiled_at)}")
    if found.abstention:
        say(why_empty(found.abstention, found.relevance))
    elif found.relevance.threshold:
        say(decided_by(found.relevance))
    say(_timings(found), "dim")
    if not found.candidates:
        return
    say(_counts(found))
    say("")
    rows = (_row(place, one) for place, one in enumerate(found.candidates[:limit], start=1))
    say_table(("#", "score", "gate", "item", "signals"), rows)
    if len(found.candidates) > limit:
        note(f"{len(found.candidates) - limit} more: see --limit")


def _timings(found: ContextTrace) -> str:
    others = sorted(set(found.timings_ms) - set(_STAGES))
    stages = [stage for stage in (*_STAGES, *others) if stage in found.timings_ms]
    return ", ".join(f"{stage} {found.timings_ms[stage]:.1f} ms" for stage in stages)


def _counts(found: ContextTrace) -> str:
    counts = Counter(gate_name(one.gate) for one in found.candidates)
    return f"{len(found.candidates)} candidates: " + ", ".join(f"{gate} {count}" for gate, count in counts.items())


def _row(place: int, one: TracedCandidate) -> tuple[str, ...]:
    return (str(place), f"{one.score:.3f}", gate_name(one.gate), one.item_id, raw_scores(one.signals))
