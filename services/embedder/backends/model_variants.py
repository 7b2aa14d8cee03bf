"""Loads a model of sentence-transformers in one of the ways to run it."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer

from services.embedder.backends.calibration import Encode
from services.embedder.backends.device_plan import Device, Variant
from services.embedder.backends.model_cache import default_cache_folder
from services.embedder.backends.model_revision import name_of
from services.embedder.backends.onnx_encoder import onnx_file, own_file, use_onnx
from services.embedder.backends.torch_device import torch_dtype
from services.embedder.settings import EmbedderSettings


def load_variant(settings: EmbedderSettings, device: Device, revision: str, variant: Variant) -> SentenceTransformer:
    """Loads the configured model, from the hub unless it's a folder, in the cache, or HF_HUB_OFFLINE is set.

    Raises `OSError` when the model isn't there, and `ValueError` when it cannot be run so.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    is_onnx = variant.runtime == "onnx"
    model = SentenceTransformer(
        settings.model,
        device=device.name,
        revision=settings.revision or None,
        trust_remote_code=settings.trust_remote_code,
        model_kwargs={"dtype": torch.float32 if is_onnx else torch_dtype(variant.dtype)},
    )
    model.eval()
    if is_onnx:
        _use_onnx(model, settings, revision, quantised=variant.dtype == "int8")
    if variant.compiled:
        model.compile(dynamic=True)
    return model


def encoding(model: SentenceTransformer) -> Encode:
    """Returns a function from texts to vectors, in one batch."""

    def encode(texts: Any) -> Any:
        vectors = model.encode(list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, np.float32)

    return encode


def _use_onnx(model: SentenceTransformer, settings: EmbedderSettings, revision: str, *, quantised: bool) -> None:
    cache: Path = settings.cache_folder or default_cache_folder()
    name = f"{name_of(settings.model).replace('/', '--')}-{revision}"
    file = onnx_file(model, cache=cache, name=name, own=own_file(settings.model), quantised=quantised)
    use_onnx(model, file, alone=quantised)
