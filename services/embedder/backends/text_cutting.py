"""Cuts texts between tokens into pieces that fit a model's window, by the model's own tokenizer."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.embedder.windows import balanced_spans

# Texts of more tokens than this are not checked for being blank: they hold something.
_BLANK_TOKENS_MAX = 8

_Offsets = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text with the number of its tokens, special tokens left out."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text as pieces, which together are the text; none where it holds nothing that the model can read."""

    pieces: tuple[Piece, ...]
    tokens: int


class TextCutter:
    """A fast tokenizer that knows where in a text each token is."""

    def __init__(self, tokenizer: Any) -> None:
        # A copy: the model's own is set to truncate and pad while it encodes, in another thread than this one's.
        self._tokenizer = copy.deepcopy(tokenizer)

    def cut(self, texts: Sequence[str], room: int) -> list[Pieces]:
        """Cuts texts into pieces of at most `room` tokens, as even as can be."""
        if not texts:
            return []
        return [self._cut(text, offsets, room) for text, offsets in zip(texts, self._offsets(texts), strict=True)]

    def count_with_special(self, text: str) -> int:
        """Returns the tokens of a text, those included that the model puts around it."""
        return len(self._tokenizer(text, truncation=False, verbose=False)["input_ids"])

    def first(self, text: str, room: int) -> Piece:
        """Returns as much of the beginning of a text as `room` tokens hold."""
        offsets = self._offsets([text])[0]
        return Piece(text, len(offsets)) if len(offsets) <= room else Piece(text[: offsets[room][0]], room)

    def special_in_pair(self) -> int:
        """Returns how many tokens the model puts around a pair of texts."""
        return int(self._tokenizer.num_special_tokens_to_add(pair=True))

    def _cut(self, text: str, offsets: _Offsets, room: int) -> Pieces:
        if not text.strip() or not offsets or self._is_blank(text, len(offsets)):
            return Pieces((), 0)
        if len(offsets) <= room:
            return Pieces((Piece(text, len(offsets)),), len(offsets))
        starts = [0, *(offsets[start][0] for start, _ in balanced_spans(len(offsets), max(1, room))[1:])]
        parts = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
        return Pieces(tuple(self._fitting(parts, room)), len(offsets))

    def _fitting(self, parts: Sequence[str], room: int) -> list[Piece]:
        """Returns a piece per part; a part that has more tokens alone than it had in its text is halved."""
        pieces = []
        for part, offsets in zip(parts, self._offsets(parts), strict=True):
            if len(offsets) > room and len(part) > 1:
                pieces += self._fitting([part[: len(part) // 2], part[len(part) // 2 :]], room)
            elif offsets:
                pieces.append(Piece(part, len(offsets)))
        return pieces

    def _offsets(self, texts: Sequence[str]) -> Sequence[_Offsets]:
        encoded = self._tokenizer(
            list(texts), add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
        )
        found: Sequence[_Offsets] = encoded["offset_mapping"]
        return found

    def _is_blank(self, text: str, tokens: int) -> bool:
        """Says whether a text's few tokens stand for nothing but spaces."""
        if tokens > _BLANK_TOKENS_MAX:
            return False
        ids = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return not self._tokenizer.decode(ids).strip()
