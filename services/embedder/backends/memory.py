"""What a model does when its device runs out of memory."""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

_log = logging.getLogger(__name__)


class Sized(Protocol):
    """What a model takes at once."""

    @property
    def tokens(self) -> int:
        """Its length in tokens."""


WorkT = TypeVar("WorkT", bound=Sized)


class Halving:
    """Runs batches, and halves those that don't fit the device's memory: they, and all that are as large later."""

    def __init__(self) -> None:
        self._most_tokens: int | None = None

    def run(self, run: Callable[[Sequence[WorkT]], NDArray[np.float32]], work: Sequence[WorkT]) -> NDArray[np.float32]:
        """Returns one row per piece of work. Raises `torch.OutOfMemoryError` where one piece alone does not fit."""
        size = len(work) * max(piece.tokens for piece in work)
        if len(work) > 1 and self._most_tokens is not None and size > self._most_tokens:
            return self._in_halves(run, work)
        try:
            return run(work)
        except torch.OutOfMemoryError:
            if len(work) == 1:
                raise
        # Outside of the handler: the error holds the frames, and with them the memory, of what failed.
        self._most_tokens = size // 2
        _log.warning("the device's memory is full: batches are halved", extra={"batch_tokens": self._most_tokens})
        torch.cuda.empty_cache()
        return self._in_halves(run, work)

    def _in_halves(
        self, run: Callable[[Sequence[WorkT]], NDArray[np.float32]], work: Sequence[WorkT]
    ) -> NDArray[np.float32]:
        middle = len(work) // 2
        return np.concatenate([self.run(run, work[:middle]), self.run(run, work[middle:])])
