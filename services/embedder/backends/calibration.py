"""Chooses among the ways to run a model by trying them: the fastest of those that give the model's own vectors.

Knows no library: a way is tried by a function from texts to vectors.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.embedder.backends.device_plan import Variant
from services.embedder.windows import units

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

LEAST_COSINE = 0.999
"""Cosine to the model's own vectors from which another way counts as the same."""

_GAIN = 0.9
"""What the time must fall to for another way to be worth it: less is within what measuring varies by."""

LONGEST_COMPILING_S = 60.0
"""What a compiled model's first run may take. Looked at when it is over: a compiler cannot be stopped."""

_MOST_TRIALS, _TRIAL_S = 5, 0.5
_LONGEST_BATCH_S = 0.5
"""What a batch may take at most, where a smaller one is as good: a query waits for the batch before it."""

_LONG = "The quarterly report of the northern branch lists every repair, its cost and who ordered it. "
_QUERY = "Who ordered the repair of the pump in March?"
_PASSAGE = _LONG * 6
PROBES = (
    _QUERY,
    _PASSAGE,
    _LONG * 20,
    "Когда выпускаем отчёты по проекту «Альфа»?",
    "Отчёты по проекту Альфа выходят по пятницам, ответственная — Мария Иванова. " * 4,
    "Релиз v2.4.1 — see INV-77123, ветка release/2.4, ok? 😀",
    "😀",
    "a",
    "def f(x):\n    return x ** 2  # square",
    "12 345,67 ₽ — 14.03.2026",
)
"""Texts on which vectors are compared: short and long, in two scripts, mixed, odd."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trial:
    """What a way to run a model was seen to do."""

    variant: Variant
    cosine: float
    """The least to the vectors of the first way, which is the most precise."""
    cost_s: float
    """Geometric mean of the times of a query and of a batch: both count, whatever the sizes of models."""

    @property
    def is_equal(self) -> bool:
        """Whether it gives the model's own vectors."""
        return self.cosine >= LEAST_COSINE


def tried(
    variants: Iterable[Variant],
    load: Callable[[Variant], Encode],
    at_once: Callable[[Variant], int] = lambda _: 1,
    *,
    timed: bool = True,
) -> list[Trial]:
    """Tries each way in turn, the most precise first; those that fail are left out, with a line in the log.

    `at_once` tells how many batches a way runs at a time; not `timed`, only vectors are compared. Raises what the last
    one raised where all fail.
    """
    trials: list[Trial] = []
    reference: NDArray[np.float64] | None = None
    failure: Exception | None = None
    for variant in variants:
        try:
            vectors, cost_s = _measured(load(variant), at_once(variant), timed, is_compiled=variant.compiled)
        except Exception as error:  # kernels, memory and exporters fail in ways of their own
            _log.warning("a way to run the model is left out", exc_info=error, extra={"variant": str(variant)})
            failure = error
            continue
        reference = vectors if reference is None else reference
        # NaN counts as no likeness at all.
        cosine = float(np.nan_to_num((reference * vectors).sum(axis=1), nan=-1.0).min())
        trials.append(Trial(variant, cosine, cost_s))
        _log.info(
            "tried a way to run the model",
            extra={"variant": str(variant), "cosine": round(cosine, 6), "cost_ms": round(cost_s * 1000, 2)},
        )
    if failure and not trials:
        raise failure
    return trials


def _measured(encode: Encode, at_once: int, timed: bool, *, is_compiled: bool) -> tuple[NDArray[np.float64], float]:
    # A function of its own, so that one model is let go before the next is loaded.
    begun = time.monotonic()
    vectors = units(encode(PROBES))
    if is_compiled and time.monotonic() - begun > LONGEST_COMPILING_S:
        raise TimeoutError("compiling takes too long, and would at each start")
    return vectors, cost(encode, at_once) if timed else 0.0


def best(trials: Sequence[Trial]) -> Trial:
    """Returns the fastest of the ways that are equal to the first, and the first where none is a good deal faster."""
    first = trials[0]
    fastest = min((trial for trial in trials if trial.is_equal), key=lambda trial: trial.cost_s)
    return fastest if fastest.cost_s < _GAIN * first.cost_s else first


def cost(encode: Encode, at_once: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Returns the geometric mean of the seconds of a query and of a batch of passages, the least of some runs each."""
    return math.sqrt(_least_s(encode, [_QUERY], clock) * _least_s(encode, [_PASSAGE] * 8, clock) / at_once)


def batch_tokens(
    ladder: Sequence[int], run: Callable[[int], None], clock: Callable[[], float] = time.perf_counter
) -> int:
    """Returns the least budget that does about as many tokens a second as any.

    `run` does a batch of so many tokens. The way up ends where more brings nothing, takes too long, or does not fit the
    device's memory.
    """
    speeds: dict[int, float] = {}
    for budget in ladder:
        try:
            took_s = _least_s(lambda _, budget=budget: run(budget), [], clock)  # type: ignore[misc]
        except Exception as error:  # out of memory has a type of its own in each library
            _log.info("a batch does not fit", exc_info=error, extra={"batch_tokens": budget})
            break
        if speeds and took_s > _LONGEST_BATCH_S:
            break
        speeds[budget] = budget / took_s
        if speeds[budget] < max(speeds.values()) * _GAIN:
            break
    most = max(speeds.values(), default=0.0)
    return next((budget for budget, speed in speeds.items() if speed >= _GAIN * most), ladder[0])


def _least_s(encode: Callable[[Sequence[str]], object], texts: Sequence[str], clock: Callable[[], float]) -> float:
    # The first run sets up kernels for the shape.
    encode(texts)
    times: list[float] = []
    while len(times) < _MOST_TRIALS and sum(times) < _TRIAL_S:
        begun = clock()
        encode(texts)
        times.append(clock() - begun)
    return max(min(times), 1e-9)
