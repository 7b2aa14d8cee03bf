"""Any model that sentence-transformers can run, on CUDA, MPS or the processor. Nothing else here imports torch."""

import copy
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from services.embedder.backend import CutText, InputType, Window
from services.embedder.backends.processors import automatic_threads
from services.embedder.fingerprint import Fingerprint
from services.embedder.settings import EmbedderSettings
from services.embedder.windows import balanced_spans

# Models of the E5 family were trained with these, and most of them do not carry them as prompts.
_E5_NAME = re.compile(r"(^|[/_-])e5-(small|base|large)(-v\d+|-unsupervised)?$", re.IGNORECASE)
_E5_PREFIXES = {InputType.QUERY: "query: ", InputType.PASSAGE: "passage: "}
_PROMPT_NAMES = {InputType.QUERY: ("query",), InputType.PASSAGE: ("passage", "document")}

_BATCH_TOKENS = {"cuda": 65_536, "mps": 8_192, "cpu": 2_048}
_WEIGHT_FILES = ("*.safetensors", "*.bin")
_MAX_TOKENS_UNSAID = 512
# Texts of more tokens than this are not checked for being blank: they hold something.
_BLANK_TOKENS_MAX = 8


class SentenceTransformersBackend:
    """A sentence-transformers model. Its vectors are made unit length, whatever the model does itself."""

    name = "sentence-transformers"
    parallel_runs = 1

    def __init__(self, model: SentenceTransformer, fingerprint: Fingerprint, settings: EmbedderSettings) -> None:
        self.fingerprint = fingerprint
        self.device = str(model.device)
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.max_tokens = _max_tokens(model, settings.max_tokens)
        self.batch_tokens = _BATCH_TOKENS.get(model.device.type, _BATCH_TOKENS["cpu"])
        self._model = model
        model.max_seq_length = self.max_tokens
        # A copy: the model's own is set to truncate and pad while it encodes, in another thread than this one's.
        self._tokenizer = copy.deepcopy(model.tokenizer)
        self._prefixes = {
            InputType.QUERY: fingerprint.query_prefix,
            InputType.PASSAGE: fingerprint.passage_prefix,
        }

    def cut(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        """Tokenises texts and cuts them between tokens into windows that leave room for the prefix."""
        prefix = self._prefixes[input_type]
        # Without its last space, which sentencepiece counts to the text.
        around = self._count(prefix.rstrip())
        return [self._cut_text(text, prefix, around) for text in texts]

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Returns one vector per window, (windows, dimension)."""
        return self.run(self.prepare(windows))

    def prepare(self, windows: Sequence[Window]) -> Sequence[Window]:
        """Returns the windows as they are: the model tokenises them when it runs."""
        return windows

    def run(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Returns one vector per window, (windows, dimension)."""
        vectors = np.empty((len(windows), self.fingerprint.dimension), np.float32)
        prefixes = [window.content[0] for window in windows]
        for prefix in sorted(set(prefixes)):
            rows = [row for row, each in enumerate(prefixes) if each == prefix]
            vectors[rows] = self._encode_alike(prefix, [windows[row].content[1] for row in rows])
        return vectors

    def _encode_alike(self, prefix: str, texts: list[str]) -> NDArray[np.float32]:
        vectors = self._model.encode(
            texts,
            prompt=prefix or None,
            batch_size=len(texts),
            normalize_embeddings=False,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return cast("NDArray[np.float32]", np.asarray(vectors, dtype=np.float32))

    def _cut_text(self, text: str, prefix: str, around: int) -> CutText:
        offsets = self._offsets(text)
        if not text.strip() or not offsets or self._is_blank(text, len(offsets)):
            return CutText((), 0)
        spans = balanced_spans(len(offsets), max(1, self.max_tokens - around))
        starts = [0, *(offsets[start][0] for start, _ in spans[1:])]
        pieces = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
        return CutText(tuple(self._windows(pieces, prefix, around)), around + len(offsets))

    def _windows(self, pieces: list[str], prefix: str, around: int) -> list[Window]:
        """Returns a window per piece; a piece that has more tokens alone than it had in its text is halved."""
        windows = []
        for piece in pieces:
            weight = len(self._offsets(piece))
            if around + weight > self.max_tokens and len(piece) > 1:
                halves = [piece[: len(piece) // 2], piece[len(piece) // 2 :]]
                windows += self._windows(halves, prefix, around)
            elif weight:
                windows.append(Window((prefix, piece), around + weight, weight))
        return windows

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        encoded = self._tokenizer(
            text, add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
        )
        return cast("list[tuple[int, int]]", encoded["offset_mapping"])

    def _is_blank(self, text: str, tokens: int) -> bool:
        """Says whether a text's few tokens stand for nothing but spaces."""
        if tokens > _BLANK_TOKENS_MAX:
            return False
        ids = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return not self._tokenizer.decode(ids).strip()

    def _count(self, text: str) -> int:
        return len(self._tokenizer(text, truncation=False, verbose=False)["input_ids"])


def load_sentence_transformers(settings: EmbedderSettings) -> SentenceTransformersBackend:
    """Loads the configured model; from the hub unless it's a folder, in the cache, or HF_HUB_OFFLINE is set.

    Raises `OSError` when the model isn't there, and `ValueError` when it cannot serve.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    device = _device() if settings.device == "auto" else settings.device
    if device == "cpu":
        torch.set_num_threads(settings.threads or automatic_threads())
    model = SentenceTransformer(
        settings.model,
        device=device,
        revision=settings.revision or None,
        trust_remote_code=settings.trust_remote_code,
        model_kwargs={"dtype": _dtype(settings.dtype, device)},
    )
    if not getattr(model.tokenizer, "is_fast", False):
        raise ValueError(f"{settings.model} has no fast tokenizer: long texts could not be cut into windows")
    return SentenceTransformersBackend(model, _fingerprint(model, settings), settings)


def _device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _dtype(name: str, device: str) -> torch.dtype:
    if name == "auto":
        return torch.float16 if device.startswith("cuda") else torch.float32
    if name == "int8":
        raise ValueError("sentence-transformers runs in float16, bfloat16 or float32, not in int8")
    return cast("torch.dtype", getattr(torch, name))


def _fingerprint(model: SentenceTransformer, settings: EmbedderSettings) -> Fingerprint:
    folder = Path(settings.model)
    return Fingerprint(
        model=folder.resolve().name if folder.is_dir() else settings.model,
        revision=_checksum(folder) if folder.is_dir() else _commit(model, settings),
        query_prefix=_prefix(model, settings.model, InputType.QUERY, settings.query_prefix),
        passage_prefix=_prefix(model, settings.model, InputType.PASSAGE, settings.passage_prefix),
        pooling=_pooling(model),
        dimension=int(model.get_embedding_dimension() or 0),
        normalized=True,
    )


def _checksum(folder: Path) -> str:
    """Returns the first 40 hex digits of the SHA-256 over the weights files of a folder, in order of their names."""
    digest = hashlib.sha256()
    paths = sorted({path for pattern in _WEIGHT_FILES for path in folder.rglob(pattern)})
    if not paths:
        raise ValueError(f"{folder} holds no weights")
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:40]


def _commit(model: SentenceTransformer, settings: EmbedderSettings) -> str:
    """Returns the commit that a model from the hub was loaded from: a branch would change its meaning."""
    config: Any = getattr(getattr(model[0], "auto_model", None), "config", None)
    commit = getattr(config, "_commit_hash", None) or settings.revision
    if not commit:
        raise ValueError(f"the commit of {settings.model} is not known: set PALIMPSEST_EMBEDDER_REVISION")
    return str(commit)


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
