"""A model's transformer in ONNX Runtime: exported, quantised where that is wanted, and put in the place of torch's."""

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from services.embedder.backends.model_cache import built_once

BUILDER_VERSION = 1
"""Goes up whenever what is exported changes."""

_OWN_FILE = "onnx/model.onnx"
_FILE = "model.onnx"
_OUTPUT = "last_hidden_state"
_OPSET = 18
# A protobuf message holds no more; and what is larger is for a GPU.
_MOST_BYTES = 1_900_000_000

_log = logging.getLogger(__name__)


class OnnxEncoder(torch.nn.Module):
    """Stands where sentence-transformers has torch's transformer; what comes after it stays the library's.

    Whole numbers are scaled by what is run together. So that a text's vector depends on no other text, `alone` runs
    each by itself.
    """

    def __init__(self, file: Path, config: Any, *, alone: bool) -> None:
        super().__init__()
        self.config = config
        self.device = torch.device("cpu")
        self._session = _open_session(file)
        self._names = [each.name for each in self._session.get_inputs()]
        self._alone = alone

    def forward(self, **features: Any) -> dict[str, torch.Tensor]:
        """Returns the states of the last layer, batch × tokens × hidden."""
        ids = features["input_ids"].numpy()
        inputs = {name: features[name].numpy() if name in features else np.zeros_like(ids) for name in self._names}
        states = self._run_alone(inputs) if self._alone else self._run(inputs)
        return {_OUTPUT: torch.from_numpy(states)}

    def _run(self, inputs: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        states: NDArray[np.float32] = self._session.run(None, dict(inputs))[0]
        return states

    def _run_alone(self, inputs: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        """Runs each text without its padding, whose states stay zero."""
        there = inputs["attention_mask"] == 1
        rows = [
            self._run({name: values[row][mask][None] for name, values in inputs.items()})[0]
            for row, mask in enumerate(there)
        ]
        states = np.zeros((*there.shape, rows[0].shape[-1]), np.float32)
        for row, mask in enumerate(there):
            states[row][mask] = rows[row]
        return states


def use_onnx(model: SentenceTransformer, file: Path, *, alone: bool) -> None:
    """Has ONNX Runtime run the model's transformer; torch's is let go."""
    transformer: Any = model[0]
    transformer.model = OnnxEncoder(file, transformer.model.config, alone=alone)


def onnx_file(model: SentenceTransformer, *, cache: Path, name: str, own: Path | None, quantised: bool) -> Path:
    """Returns the graph of a model's transformer, built into the cache at the first call.

    `name` tells the weights apart, `own` is the model's own graph. Raises `ValueError` where there can be none.
    """

    def build(folder: Path) -> None:
        started = time.monotonic()
        if own is None:
            _log.info("exporting the model to ONNX: once, some seconds", extra={"folder": str(folder.parent)})
            export(model, folder / _FILE)
        if quantised:
            _quantise(own or folder / _FILE, folder / _FILE)
        _log.info("the model is exported", extra={"took_s": round(time.monotonic() - started, 1)})

    if own is not None and not quantised:
        return own
    form = "int8" if quantised else "float32"
    return built_once(cache, f"{name}-{BUILDER_VERSION}-{'own-' if own else ''}{form}-onnx", build) / _FILE


def own_file(model: str) -> Path | None:
    """Returns the graph that comes with a model's folder. None where there is none."""
    file = Path(model) / _OWN_FILE
    return file if file.is_file() else None


def export(model: SentenceTransformer, file: Path) -> None:
    """Writes a model's transformer as a graph from token ids to the states of the last layer."""
    transformer: Any = model[0]
    _check(model)
    features = model.preprocess(["a first text", "and a longer one"])
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in features]
    axes = {name: {0: "batch", 1: "tokens"} for name in (*names, _OUTPUT)}
    with warnings.catch_warnings():
        # The exporter tells of itself and of shapes that it takes for fixed; vectors are compared afterwards.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _States(transformer, names).eval(),
            tuple(features[name] for name in names),
            str(file),
            input_names=names,
            output_names=[_OUTPUT],
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,  # the newer exporter takes ten times as long, and a library of its own
        )


class _States(torch.nn.Module):
    """A transformer with plain arguments, as exporters want it."""

    def __init__(self, transformer: Any, names: Sequence[str]) -> None:
        super().__init__()
        self._transformer, self._names = transformer, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self._transformer(dict(zip(self._names, inputs, strict=True)))["token_embeddings"]
        return states


def _check(model: SentenceTransformer) -> None:
    transformer: Any = model[0]
    if getattr(transformer, "module_output_name", "") != "token_embeddings" or not hasattr(transformer, "model"):
        raise ValueError("only a model that begins with a transformer of texts can be exported")
    size = sum(each.numel() * each.element_size() for each in transformer.parameters())
    if size > _MOST_BYTES:
        raise ValueError(f"a model of {size:,} bytes is too large to be exported")


def _quantise(full: Path, file: Path) -> None:
    # Only who asks for it waits for the import.
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    unfinished = file.with_suffix(".int8.onnx")
    # Seven bits: processors without VNNI would overflow, and a space must not depend on the processor.
    quantize_dynamic(full, unfinished, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    unfinished.replace(file)


def _open_session(file: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One thread a batch, and a batch a core, as of the bundled model.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
