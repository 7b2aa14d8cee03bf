"""Any model that sentence-transformers can run, on CUDA, MPS or the processor, by torch or by ONNX Runtime."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device

from services.embedder.backend import CutText, InputType, Window
from services.embedder.backends.calibrated import Choice, choice
from services.embedder.backends.calibration import Encode
from services.embedder.backends.device_plan import Device, Variant
from services.embedder.backends.memory import Halving
from services.embedder.backends.model_revision import name_of, revision_of
from services.embedder.backends.model_variants import encoding, load_variant
from services.embedder.backends.text_cutting import Pieces, TextCutter
from services.embedder.backends.torch_device import described, pin_threads
from services.embedder.fingerprint import Fingerprint
from services.embedder.settings import EmbedderSettings

# Models of the E5 family were trained with these, and most of them do not carry them as prompts.
_E5_NAME = re.compile(r"(^|[/_-])e5-(small|base|large)(-v\d+|-unsupervised)?$", re.IGNORECASE)
_E5_PREFIXES = {InputType.QUERY: "query: ", InputType.PASSAGE: "passage: "}
_PROMPT_NAMES = {InputType.QUERY: ("query",), InputType.PASSAGE: ("passage", "document")}
_MAX_TOKENS_UNSAID = 512


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch as the model takes it: what it is made of, and the tokens of those with the same prefix, in rows."""

    windows: Sequence[Window]
    parts: list[tuple[list[int], dict[str, Any]]]


class SentenceTransformersBackend:
    """A sentence-transformers model. Its vectors are made unit length, whatever the model does itself."""

    def __init__(
        self, model: SentenceTransformer, fingerprint: Fingerprint, chosen: Choice, *, max_tokens: int, threads: int
    ) -> None:
        is_onnx = chosen.variant.runtime == "onnx"
        self.name = "onnx" if is_onnx else "sentence-transformers"
        self.fingerprint = fingerprint
        self.device = str(model.device)
        self.dtype = f"{chosen.variant.dtype} compiled" if chosen.variant.compiled else chosen.variant.dtype
        self.max_tokens = max_tokens
        self.batch_tokens = chosen.batch_tokens
        # ONNX Runtime has one thread for a batch, and a batch a core; one more is for queries.
        self.parallel_runs = threads + 1 if is_onnx else 1
        self._model = model
        model.max_seq_length = self.max_tokens
        self._cutter = TextCutter(model.tokenizer)
        self._halving = Halving()
        self._prefixes = {
            InputType.QUERY: fingerprint.query_prefix,
            InputType.PASSAGE: fingerprint.passage_prefix,
        }

    def cut(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        """Tokenises texts and cuts them between tokens into windows that leave room for the prefix."""
        prefix = self._prefixes[input_type]
        # Without its last space, which sentencepiece counts to the text.
        around = self._cutter.count_with_special(prefix.rstrip())
        return [_windows(cut, prefix, around) for cut in self._cutter.cut(texts, max(1, self.max_tokens - around))]

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Returns one vector per window, (windows, dimension)."""
        return self.run(self.prepare(windows))

    def prepare(self, windows: Sequence[Window]) -> Prepared:
        """Tokenises and pads a batch, as the model does it itself."""
        prefixes = [window.content[0] for window in windows]
        parts = []
        for prefix in sorted(set(prefixes)):
            rows = [row for row, each in enumerate(prefixes) if each == prefix]
            texts = [windows[row].content[1] for row in rows]
            parts.append((rows, dict(self._model.preprocess(texts, prompt=prefix or None))))
        return Prepared(windows, parts)

    def run(self, prepared: Prepared) -> NDArray[np.float32]:
        """Returns one vector per window of a prepared batch, (windows, dimension)."""
        return self._halving.run(partial(self._run, prepared), prepared.windows)

    def _run(self, prepared: Prepared, windows: Sequence[Window]) -> NDArray[np.float32]:
        # A part of the batch is what did not fit the memory whole: it is prepared anew.
        parts = prepared.parts if windows is prepared.windows else self.prepare(windows).parts
        vectors = np.empty((len(windows), self.fingerprint.dimension), np.float32)
        for rows, features in parts:
            vectors[rows] = self._vectors(features)
        return vectors

    @torch.inference_mode()
    def _vectors(self, features: dict[str, Any]) -> NDArray[np.float32]:
        out = self._model(batch_to_device(dict(features), self._model.device))
        # Models that may be cut short are cut as they say themselves.
        vectors = out["sentence_embedding"][:, : self.fingerprint.dimension]
        return cast("NDArray[np.float32]", vectors.float().cpu().numpy())


def load_sentence_transformers(settings: EmbedderSettings) -> SentenceTransformersBackend:
    """Loads the configured model, and at its first start finds out how it runs best.

    Raises `OSError` when the model isn't there, and `ValueError` when it cannot serve.
    """
    device = described(settings.device)
    threads = pin_threads(device, settings)
    revision = revision_of(settings.model, settings.revision, trust_remote_code=settings.trust_remote_code)
    loaded = _Latest(settings, device, revision)
    chosen = choice(settings, device, revision, loaded.encoding_of, threads=threads)
    model = loaded.get(chosen.variant)
    if not getattr(model.tokenizer, "is_fast", False):
        raise ValueError(f"{settings.model} has no fast tokenizer: long texts could not be cut into windows")
    # What gives other vectors than the model's own is a space of its own.
    space = revision if chosen.is_equal else f"{revision}-{chosen.variant.dtype}"
    return SentenceTransformersBackend(
        model,
        _fingerprint(model, settings, space),
        chosen,
        max_tokens=_max_tokens(model, settings.max_tokens),
        threads=threads,
    )


class _Latest:
    """Holds one loaded way at a time: two would take the memory that is measured."""

    def __init__(self, settings: EmbedderSettings, device: Device, revision: str) -> None:
        self._load = partial(load_variant, settings, device, revision)
        self._held: tuple[Variant, SentenceTransformer] | None = None

    def get(self, variant: Variant) -> SentenceTransformer:
        """Returns the model in this way."""
        if self._held is None or self._held[0] != variant:
            self._held = None
            self._held = (variant, self._load(variant))
        return self._held[1]

    def encoding_of(self, variant: Variant) -> Encode:
        """Returns the model in this way as a function from texts to vectors."""
        return encoding(self.get(variant))


def _windows(cut: Pieces, prefix: str, around: int) -> CutText:
    if not cut.pieces:
        return CutText((), 0)
    windows = (Window((prefix, piece.text), around + piece.tokens, piece.tokens) for piece in cut.pieces)
    return CutText(tuple(windows), around + cut.tokens)


def _fingerprint(model: SentenceTransformer, settings: EmbedderSettings, revision: str) -> Fingerprint:
    return Fingerprint(
        model=name_of(settings.model),
        revision=revision,
        query_prefix=_prefix(model, settings.model, InputType.QUERY, settings.query_prefix),
        passage_prefix=_prefix(model, settings.model, InputType.PASSAGE, settings.passage_prefix),
        pooling=_pooling(model),
        dimension=int(model.get_embedding_dimension() or 0),
        normalized=True,
    )


def _prefix(model: SentenceTransformer, name: str, input_type: InputType, configured: str | None) -> str:
    if configured is not None:
        return configured
    prompts = [model.prompts.get(prompt) for prompt in _PROMPT_NAMES[input_type]]
    own = next((prompt for prompt in prompts if prompt), "")
    return own or (_E5_PREFIXES[input_type] if _E5_NAME.search(name) else "")


def _pooling(model: SentenceTransformer) -> str:
    for module in model:
        mode = getattr(module, "pooling_mode", None)
        if mode:
            return mode if isinstance(mode, str) else "+".join(mode)
    return "model"


def _max_tokens(model: SentenceTransformer, configured: int) -> int:
    own = model.max_seq_length or _MAX_TOKENS_UNSAID
    return min(own, configured) if configured else int(own)
