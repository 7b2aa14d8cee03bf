"""Any cross-encoder that sentence-transformers can run: it reads a question and a text together."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder

from services.embedder.backends.device_plan import automatic_dtype
from services.embedder.backends.memory import Halving
from services.embedder.backends.model_revision import name_of, revision_of
from services.embedder.backends.text_cutting import Piece, TextCutter
from services.embedder.backends.torch_device import described, pin_threads, torch_dtype
from services.embedder.reranker import Pair
from services.embedder.settings import EmbedderSettings

MOST_PARTS = 16
"""Parts of a document that are scored, from its beginning: what lies beyond has no say."""

_MAX_TOKENS = 512
# A call's deadline is looked at between batches: on a processor they are small, so that it is looked at often.
_BATCH_TOKENS = {"cuda": 32_768, "mps": 8_192, "cpu": 2_048}


class CrossEncoderBackend:
    """A cross-encoder with one output. Documents longer than its window are cut into parts that each meet the question.

    The question has at most half of the window; what is beyond is cut off.
    """

    def __init__(self, model: CrossEncoder, name: str, *, max_tokens: int, device_kind: str) -> None:
        self.name = name
        self.batch_tokens = _BATCH_TOKENS[device_kind]
        self._model = model
        self._cutter = TextCutter(model.tokenizer)
        self._room = max_tokens - self._cutter.special_in_pair()
        self._halving = Halving()
        model.max_seq_length = max_tokens

    def cut(self, query: str, documents: Sequence[str]) -> list[list[Pair]]:
        """Returns for each document the question with each of its parts; a blank document is one empty part."""
        asked = self._cutter.first(query, self._room // 2)
        around = self._cutter.special_in_pair() + asked.tokens
        return [
            [Pair((asked.text, part.text), around + part.tokens) for part in cut.pieces[:MOST_PARTS] or (Piece("", 0),)]
            for cut in self._cutter.cut(documents, self._room - asked.tokens)
        ]

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Returns the model's output for each pair, before any activation."""
        return self._halving.run(self._score, pairs)

    def _score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        scores = self._model.predict(
            [pair.content for pair in pairs],
            batch_size=len(pairs),
            activation_fn=torch.nn.Identity(),
            show_progress_bar=False,
        )
        return cast("NDArray[np.float32]", np.asarray(scores, dtype=np.float32))


def load_cross_encoder(settings: EmbedderSettings) -> CrossEncoderBackend:
    """Loads the configured cross-encoder; from the hub unless it's a folder, in the cache, or HF_HUB_OFFLINE is set.

    Raises `OSError` when it isn't there, and `ValueError` when it cannot serve.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    device = described(settings.device)
    pin_threads(device, settings)
    model = CrossEncoder(
        settings.reranker,
        device=device.name,
        revision=settings.reranker_revision or None,
        trust_remote_code=settings.trust_remote_code,
        model_kwargs={"dtype": torch_dtype(automatic_dtype(device, settings.reranker_dtype))},
    )
    _check(model, settings.reranker)
    revision = revision_of(settings.reranker, settings.reranker_revision, trust_remote_code=settings.trust_remote_code)
    return CrossEncoderBackend(
        model,
        f"{name_of(settings.reranker)}@{revision}",
        max_tokens=_max_tokens(model, settings.reranker_max_tokens),
        device_kind=device.kind,
    )


def _check(model: CrossEncoder, name: str) -> None:
    if model.num_labels != 1:
        raise ValueError(f"{name} tells {model.num_labels} classes apart; a reranker has one score")
    if not getattr(model.tokenizer, "is_fast", False):
        raise ValueError(f"{name} has no fast tokenizer: long documents could not be cut into parts")


def _max_tokens(model: CrossEncoder, configured: int) -> int:
    config: Any = model.config
    own = min(model.max_seq_length or _MAX_TOKENS, getattr(config, "max_position_embeddings", None) or _MAX_TOKENS)
    return min(own, configured or own)
