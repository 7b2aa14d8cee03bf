"""What the embedder asks of a model."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from services.embedder.fingerprint import Fingerprint


class InputType(enum.Enum):
    """What a text is embedded as: a question, or a text to be found."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text that the model takes at once.

    `content` is the backend's own; `tokens` counts prefix and special tokens too, `weight` only the text's.
    """

    content: Any
    tokens: int
    weight: int


@dataclass(frozen=True, slots=True)
class CutText:
    """A text as windows; none where the text holds nothing that the model can read."""

    windows: tuple[Window, ...]
    token_count: int


class Backend(Protocol):
    """A model.

    `cut` and `prepare` may be called by any number of threads, `run` by `parallel_runs` threads; each of them while the
    others are under way.
    """

    @property
    def name(self) -> str:
        """Name of the backend, as `GetModel` gives it."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The space of the vectors."""

    @property
    def max_tokens(self) -> int:
        """Most tokens of a window, prefix and special tokens included."""

    @property
    def device(self) -> str:
        """Where the model runs, e.g. `cpu`, `cuda:0`."""

    @property
    def dtype(self) -> str:
        """Numeric type of the weights in memory."""

    @property
    def batch_tokens(self) -> int:
        """The token budget of a batch that suits the device."""

    @property
    def parallel_runs(self) -> int:
        """How many batches may run at once. Where it is more than one, one of them is kept for queries."""

    def cut(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        """Tokenises texts and cuts them into windows, in their order."""

    def prepare(self, windows: Sequence[Window]) -> Any:
        """Returns a batch as `run` takes it: work of the processor, done while the batch before is run."""

    def run(self, prepared: Any) -> NDArray[np.float32]:
        """Returns one vector per window of a prepared batch, (windows, dimension)."""

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Prepares a batch and runs it."""
