"""What the reader measures of its answers (OP-3). All labels are names of the contract, so there are few of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge, Histogram

from services.reader.retrieval.abstention import Abstention
from services.reader.retrieval.signals import Mode
from shared.telemetry import registry

if TYPE_CHECKING:
    from services.reader.retrieval.retrieve import Retrieved

retrievals = Counter(
    "palimpsest_reader_retrievals",
    "Retrievals of Search and CompileContext, by mode and by why the answer was empty: none where it was not.",
    ["mode", "abstention"],
    registry=registry,
)
recalls = Counter(
    "palimpsest_reader_recalls",
    "Statements that sought candidates, by how vectors were compared: exact, walked (by the index) or none.",
    ["vectors"],
    registry=registry,
)
degraded = Counter(
    "palimpsest_reader_degraded_answers",
    "Signals that could not take part in an answer, by why.",
    ["signal", "cause"],
    registry=registry,
)
stage_duration_s = Histogram(
    "palimpsest_reader_stage_duration_seconds",
    "Time of the stages of a retrieval: embed, retrieve, fuse, rerank, pack.",
    ["stage"],
    registry=registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
packs_cut = Counter(
    "palimpsest_reader_packs_cut", "Packs for which something relevant did not fit into the budget.", registry=registry
)
traces_lost = Counter(
    "palimpsest_reader_traces_lost", "Packs whose trace could not be left in time.", registry=registry
)
replication_lag_s = Gauge(
    "palimpsest_replication_lag_seconds",
    "Age of what the reader's database shows, where it is a replica that has not replayed all it received; else 0.",
    registry=registry,
)
on_replica = Gauge("palimpsest_reader_on_replica", "1 where the reader's database is a replica.", registry=registry)

_EXACT, _WALKED, _WORDS_ALONE = (recalls.labels(vectors) for vectors in ("exact", "walked", "none"))
_STAGES = {name: stage_duration_s.labels(name) for name in ("embed", "retrieve", "fuse", "rerank", "pack")}
_RETRIEVALS = {
    (mode, abstention): retrievals.labels(mode.name.lower(), abstention.name.lower())
    for mode in Mode
    for abstention in Abstention
}


def tell_recall(*, has_vector: bool, approximate: bool) -> None:
    """Counts a statement that seeks candidates."""
    (_WORDS_ALONE if not has_vector else _WALKED if approximate else _EXACT).inc()


def tell_retrieved(mode: Mode, found: Retrieved, timings_ms: Mapping[str, float] | None = None) -> None:
    """Counts a retrieval; `timings_ms`: with those of what was made of it."""
    _RETRIEVALS[mode, found.abstention].inc()
    for signal, cause in found.missing:
        degraded.labels(signal.name.lower(), cause.name.lower()).inc()
    _tell_stages((timings_ms or found.timings_ms).items())


def _tell_stages(timings_ms: Iterable[tuple[str, float]]) -> None:
    for stage, duration_ms in timings_ms:
        if stage in _STAGES:
            _STAGES[stage].observe(duration_ms / 1000)
