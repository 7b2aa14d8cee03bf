"""The texts of a folder as the embedding benchmarks use them: those that fit one window, with the tokens of each."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import folder as data
from services.embedder.backend import Backend, InputType, Window

_SEED = 7


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and the window that it is for the model."""

    text: str
    window: Window

    @property
    def tokens(self) -> int:
        """Tokens of the window, prefix and special tokens included."""
        return self.window.tokens


def passages(folder: Path, backend: Backend, most: int) -> list[Passage]:
    """Up to `most` texts of a folder, in random order; what is longer than a window is left out."""
    texts = [row["text"] for row in data.lines(folder / "docs.jsonl.gz")]
    random.Random(_SEED).shuffle(texts)
    cuts = backend.cut(texts[:most], InputType.PASSAGE)
    return [Passage(text, cut.windows[0]) for text, cut in zip(texts, cuts, strict=False) if len(cut.windows) == 1]


def questions(folder: Path, most: int) -> list[str]:
    """Up to `most` questions of a folder, in random order."""
    texts = [question.text for question in data.questions(folder)]
    random.Random(_SEED).shuffle(texts)
    return texts[:most]


def endless(texts: Sequence[Passage]) -> Iterator[Passage]:
    """The texts again and again, each time in another order."""
    randomness = random.Random(_SEED)
    while True:
        yield from randomness.sample(texts, len(texts))
