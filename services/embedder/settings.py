"""The embedder's settings, from the environment: `PALIMPSEST_EMBEDDER_…`."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

BackendName = Literal["bundled", "sentence-transformers"]
DtypeName = Literal["auto", "int8", "float16", "bfloat16", "float32"]
RuntimeName = Literal["auto", "torch", "onnx"]
SwitchName = Literal["auto", "on", "off"]
TorchDtypeName = Literal["auto", "float16", "bfloat16", "float32"]


class EmbedderSettings(BaseSettings):
    """Which model runs, where, and how much work may wait for it. 0 and `auto` mean: chosen for the device."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_EMBEDDER_", frozen=True, extra="ignore")

    backend: BackendName = "bundled"
    """`bundled` needs nothing; `sentence-transformers` runs `model`."""

    model: str = Field(default="intfloat/multilingual-e5-small", min_length=1, max_length=256)
    """Name on the Hugging Face hub, or a folder. Only for `sentence-transformers`."""

    revision: str = Field(default="", max_length=128)
    """Branch, tag or commit of a model on the hub; empty for its main branch."""

    trust_remote_code: bool = False
    """Whether a model may bring code of its own, which then runs in this process."""

    device: str = "auto"
    """`auto`, `cpu`, `mps`, `cuda` or `cuda:N`. The bundled model always runs on `cpu`."""

    dtype: DtypeName = "auto"
    """Numeric type of the weights. The bundled model has `int8` and `float32`; `int8` of others is of ONNX Runtime."""

    query_prefix: str | None = Field(default=None, max_length=256)
    """Text before a query; unset for the model's own. Only for `sentence-transformers`."""

    passage_prefix: str | None = Field(default=None, max_length=256)
    """Text before a passage; unset for the model's own. Only for `sentence-transformers`."""

    max_tokens: int = Field(default=0, ge=0)
    """Most tokens of a window, where the model allows more. Only for `sentence-transformers`."""

    reranker: str = Field(default="", max_length=256)
    """Cross-encoder of `Rerank`: its name on the Hugging Face hub, or a folder; empty for none."""

    reranker_revision: str = Field(default="", max_length=128)
    """Branch, tag or commit of a cross-encoder on the hub; empty for its main branch."""

    reranker_dtype: TorchDtypeName = "auto"
    """Numeric type of the cross-encoder's weights; `auto` is `float16` on CUDA, else `float32`."""

    reranker_max_tokens: int = Field(default=0, ge=0)
    """Most tokens of a question with a part of a document, where the cross-encoder allows more."""

    reranker_batch_tokens: int = Field(default=0, ge=0)
    """Token budget of a batch of the cross-encoder. A call's deadline is looked at between batches."""

    runtime: RuntimeName = "auto"
    """What runs the transformer of `model`: `torch`, or `onnx` for ONNX Runtime, on the processor alone."""

    compile: SwitchName = "auto"
    """Whether torch compiles `model`; `auto` tries it on CUDA alone."""

    calibrate: bool = True
    """Whether ways to run `model` that are left open are tried at the first start. Without: torch, not compiled."""

    batch_tokens: int = Field(default=0, ge=0)
    """Token budget of a batch: its longest text times its number of texts."""

    queue_tokens: int = Field(default=500_000, ge=1)
    """Tokens that may wait before calls are answered RESOURCE_EXHAUSTED."""

    cached_queries: int = Field(default=4_096, ge=0)
    """Vectors of queries that are remembered; 0 for none."""

    threads: int = Field(default=0, ge=0)
    """Threads of one model on the processor."""

    cache_folder: Path | None = None
    """Where models are built, and what was measured of them is kept; unset for `palimpsest` in the user's cache."""
