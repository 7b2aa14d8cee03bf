"""Embeds a batch of passages: equal texts once, and a text that breaks the call without the others failing with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from services.writer.embedding.queue_store import QueuedPassage
from services.writer.passage_store import PassageId, Space
from services.writer.projection.passages import embedded_text
from shared.errors import InvalidField
from shared.halfvec import encode_halfvec

_LITTLE_ENDIAN_HALF = np.dtype("<f2")
# Of an error's words so much is kept in the queue's row.
_LONGEST_REASON = 200


class Embedder(Protocol):
    """What is asked of the embedder; see `embedder_client`."""

    async def served_spaces(self, timeout_s: float) -> Sequence[Space]:
        """The spaces of the models that are served now; the first of them is the one that a new store begins with."""

    async def embed(self, texts: Sequence[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
        """For each text its vector as little-endian float16s, or why it has none.

        Raises InvalidField where one of the texts made the whole call fail, and ModelMismatch, EmbedderUnavailable and
        QueueFull where no text is at fault.
        """


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of passages as halfvec, and why the others have none."""

    made: dict[PassageId, bytes] = field(default_factory=dict)
    failed: dict[PassageId, str] = field(default_factory=dict)


async def embed_passages(
    embedder: Embedder, space: Space, passages: Sequence[QueuedPassage], timeout_s: float
) -> Vectors:
    """The vectors of passages in a space. Raises ModelMismatch, EmbedderUnavailable and QueueFull."""
    # Texts of different namespaces are embedded apart, so that nobody can tell by the time what others have.
    texts = {
        (passage.namespace, passage.embedding_hash): embedded_text(passage.title, passage.heading, passage.text)
        for passage in passages
    }
    results = dict(zip(texts, await _embed(embedder, space, list(texts.values()), timeout_s), strict=True))
    return _sorted_out(passages, results, space)


async def _embed(embedder: Embedder, space: Space, texts: list[str], timeout_s: float) -> list[bytes | str]:
    """One result per text. A call that is refused as a whole is halved, until the text at fault stands alone."""
    if not texts:
        return []
    try:
        return await embedder.embed(texts, fingerprint=space.fingerprint, timeout_s=timeout_s)
    except InvalidField as error:
        if len(texts) == 1:
            return [str(error)]
    half = len(texts) // 2
    return [
        *await _embed(embedder, space, texts[:half], timeout_s),
        *await _embed(embedder, space, texts[half:], timeout_s),
    ]


def _sorted_out(
    passages: Sequence[QueuedPassage], results: Mapping[tuple[str, str], bytes | str], space: Space
) -> Vectors:
    vectors = Vectors()
    for passage in passages:
        result = results[passage.namespace, passage.embedding_hash]
        vector = _halfvec(result, space.dimension) if isinstance(result, bytes) else result
        if isinstance(vector, bytes):
            vectors.made[passage.id] = vector
        else:
            vectors.failed[passage.id] = vector[:_LONGEST_REASON]
    return vectors


def _halfvec(halfs: bytes, dimension: int) -> bytes | str:
    """A vector as the database takes it, or why it is not stored: none of zeros, NaN or another dimension (EM-4)."""
    if len(halfs) != _LITTLE_ENDIAN_HALF.itemsize * dimension:
        return "the embedder gave a vector of another dimension"
    values = np.frombuffer(halfs, dtype=_LITTLE_ENDIAN_HALF)
    if not values.any():
        return "the embedder gave a vector of zeros"
    try:
        return encode_halfvec(values)
    except ValueError:
        return "the embedder gave a vector with NaN or infinity"
