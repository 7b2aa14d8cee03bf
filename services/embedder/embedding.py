"""From texts to vectors: cut, batch, average. Knows no message of the wire."""

import asyncio
import weakref
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.embedder import metrics
from services.embedder.backend import Backend, CutText, InputType, Window
from services.embedder.batcher import Batcher, BatchRun
from services.embedder.model_threads import thread
from services.embedder.windows import averaged, to_halfs, units

# Texts are tokenised in portions of so many characters, so that calls take turns, and one that has gone costs no more.
_PORTION_CHARS = 50_000
# So few characters are tokenised at once, by whoever has them: handing them to a thread and back takes longer.
_SHORT_CHARS = 300
# What a text is taken for before it is tokenised. Few texts have fewer characters a token.
_CHARS_PER_TOKEN = 3


class UnreadableText(ValueError):
    """The text holds nothing that the model can read."""


class UnusableVector(RuntimeError):
    """The model gave a vector that is zero, infinite or not a number."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's vector as binary16 values, with what the text was for the model."""

    halfs: bytes
    token_count: int
    windowed: bool


@dataclass(frozen=True, slots=True)
class _Direction:
    """What the model made of a window."""

    unit: NDArray[np.float64]
    """Of length 1, (dimension,); NaN throughout where there is none."""
    halfs: bytes
    """The same as binary16 values; empty where there is none."""


class Embedder:
    """A loaded model that many callers share."""

    def __init__(self, backend: Backend, *, batch_tokens: int = 0, queue_tokens: int = 500_000) -> None:
        self.backend = backend
        self._batcher: Batcher[Window, _Direction] = Batcher(
            lambda prepared: _directions(backend.run(prepared)),
            prepare=backend.prepare,
            parallel_runs=backend.parallel_runs,
            batch_tokens=batch_tokens or backend.batch_tokens,
            queue_tokens=queue_tokens,
            on_batch=_measure,
        )
        batcher = weakref.ref(self._batcher)  # the gauge outlives a model, and keeps none in memory
        metrics.queued_tokens.set_function(lambda: waiting.queued_tokens if (waiting := batcher()) else 0)
        # Apart from the model's threads: texts are tokenised while others are computed. And apart from each other: a
        # query does not wait for the passages of all others to be tokenised.
        self._tokenisers = {
            InputType.QUERY: thread("query-tokeniser"),
            InputType.PASSAGE: thread("passage-tokeniser", yields=True),
        }

    @property
    def is_running(self) -> bool:
        """Whether work is taken."""
        return self._batcher.is_running

    def start(self) -> None:
        """Starts the work; call it on the event loop that `embed` is called on."""
        self._batcher.start()

    async def close(self) -> None:
        """Stops after the batch in hand. Callers that still wait are cancelled."""
        await self._batcher.close()
        for each in self._tokenisers.values():
            await asyncio.to_thread(each.shutdown, cancel_futures=True)

    async def embed(
        self,
        texts: Sequence[str],
        input_type: InputType,
        deadline: float | None = None,
        caller: Hashable = None,
    ) -> list[Embedded | Exception]:
        """Returns, in the order of the texts, a vector or why there is none: one text never fails another.

        `deadline` is by `time.monotonic`; callers take turns. Raises `QueueFull` when there is no room for all the
        texts, and `DeadlineExceeded` when the deadline passes before all are embedded.
        """
        self._batcher.check_room(sum(map(len, texts)) // _CHARS_PER_TOKEN, caller)
        cuts = await self._cut(texts, input_type)
        windows = [window for cut in cuts for window in cut.windows]
        vectors = await self._batcher.submit(
            windows,
            tokens=[window.tokens for window in windows],
            urgent=input_type is InputType.QUERY,
            deadline=deadline,
            caller=caller,
        )
        return _assembled(cuts, vectors)

    async def _cut(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        if sum(map(len, texts)) <= _SHORT_CHARS:
            return self._cut_portion(texts, input_type)
        loop = asyncio.get_running_loop()
        cuts: list[CutText] = []
        for portion in _portions(texts):
            cuts += await loop.run_in_executor(self._tokenisers[input_type], self._cut_portion, portion, input_type)
        return cuts

    def _cut_portion(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        with metrics.tokenising_s.time():
            return self.backend.cut(texts, input_type)


def _measure(batch: BatchRun) -> None:
    metrics.batch_fill.observe(batch.fill)
    metrics.queue_age_s.observe(batch.waited_s)
    metrics.inference_s.observe(batch.ran_s)


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cuts a sequence of texts into runs of about `_PORTION_CHARS`."""
    portion: list[str] = []
    chars = 0
    for text in texts:
        if portion and chars + len(text) > _PORTION_CHARS:
            yield portion
            portion, chars = [], 0
        portion.append(text)
        chars += len(text)
    if portion:
        yield portion


def _directions(vectors: NDArray[np.float32]) -> list[_Direction]:
    """Of all windows of a batch at once, in the model's thread: one by one it takes a tenth of a call's time."""
    rows = units(vectors)
    halfs, usable = to_halfs(rows), np.isfinite(rows[:, 0])  # NaN throughout, or nowhere
    size = len(halfs) // max(len(rows), 1)
    return [
        _Direction(row, halfs[index * size : (index + 1) * size] if usable[index] else b"")
        for index, row in enumerate(rows)
    ]


def _assembled(cuts: Sequence[CutText], made: Sequence[_Direction | Exception]) -> list[Embedded | Exception]:
    """Brings the windows of each text together."""
    results: list[Embedded | Exception] = []
    start = 0
    for cut in cuts:
        results.append(_of_windows(cut, made[start : start + len(cut.windows)]))
        start += len(cut.windows)
    return results


def _of_windows(cut: CutText, made: Sequence[_Direction | Exception]) -> Embedded | Exception:
    failure = next((each for each in made if isinstance(each, Exception)), None)
    if failure or not made:
        return failure or UnreadableText()
    directions = [each for each in made if not isinstance(each, Exception)]
    halfs = directions[0].halfs
    if len(directions) > 1:
        weights = [window.weight for window in cut.windows]
        mean = averaged(np.stack([each.unit for each in directions]), weights, [len(directions)])
        halfs = to_halfs(mean) if np.isfinite(mean).all() else b""
    return Embedded(halfs, cut.token_count, len(directions) > 1) if halfs else UnusableVector()
