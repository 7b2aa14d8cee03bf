"""How a model of sentence-transformers is run on a device: tried out at the first start, and remembered."""

import hashlib
import importlib.metadata
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from services.embedder.backends.calibration import LEAST_COSINE, Encode, Trial, batch_tokens, best, tried
from services.embedder.backends.device_plan import (
    Device,
    Variant,
    automatic_dtype,
    batch_ladder,
    may_compile,
    usual_batch_tokens,
    variants,
)
from services.embedder.backends.model_cache import built_once, default_cache_folder
from services.embedder.settings import EmbedderSettings

# What a way is held against: the most precise there is.
_PRECISE = Variant()
_FILE = "choice.json"
_LIBRARIES = ("torch", "transformers", "sentence-transformers", "onnxruntime")
_SETTINGS = ("dtype", "runtime", "compile", "calibrate", "batch_tokens", "threads", "max_tokens")
# A text of about so many tokens, of which batches are made to be measured.
_TEXT, _TEXT_TOKENS = "The pump of the northern branch was repaired in March, and the costs were low. " * 7, 128

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """How a model is run."""

    variant: Variant
    is_equal: bool
    """Whether its vectors are the model's own; else they are a space of their own."""
    batch_tokens: int


def choice(
    settings: EmbedderSettings, device: Device, revision: str, load: Callable[[Variant], Encode], *, threads: int
) -> Choice:
    """Returns how the configured model is run, as the settings say, as was found before, or found now by trying.

    Raises `ValueError` where the settings contradict each other, or where what they say gives other vectors than it
    should; and what loading raises.
    """
    open_ways = variants(device, dtype=settings.dtype, runtime=settings.runtime, compiled=settings.compile)
    key = _key(settings, device, revision, threads)

    def build(folder: Path) -> None:
        found = _found(settings, device, open_ways, load, threads)
        (folder / _FILE).write_text(json.dumps({**asdict(found), "variant": asdict(found.variant)}))

    if not settings.calibrate and len(open_ways) > 1:
        # Nothing is tried: what the device is known to do well, on trust.
        dtype = automatic_dtype(device, settings.dtype)
        ways = [way for way in open_ways if way.runtime == "torch" and way.dtype == dtype]
        return Choice(ways[0], True, settings.batch_tokens or usual_batch_tokens(device))
    folder = built_once(settings.cache_folder or default_cache_folder(), f"calibration-{key}", build)
    stored = json.loads((folder / _FILE).read_text())
    return Choice(**{**stored, "variant": Variant(**stored["variant"])})


def _found(
    settings: EmbedderSettings,
    device: Device,
    ways: list[Variant],
    load: Callable[[Variant], Encode],
    threads: int,
) -> Choice:
    trial = _tried(device, ways, load, settings.compile, threads)
    variant = trial.variant
    if not trial.is_equal and (variant.runtime, variant.dtype) == ("onnx", "float32"):
        raise ValueError(f"in ONNX Runtime the model gives other vectors: cosine {trial.cosine:.4f}")
    found = Choice(
        variant,
        trial.is_equal and variant.dtype != "int8",
        settings.batch_tokens or _measured_batch(settings, device, load(variant)),
    )
    _log.info("how the model is run", extra={"choice": str(found), "device": str(device)})
    return found


def _tried(
    device: Device, ways: list[Variant], load: Callable[[Variant], Encode], compiled: str, threads: int
) -> Trial:
    """The way that is chosen, as it was tried."""
    if ways == [_PRECISE]:
        return Trial(_PRECISE, 1.0, 0.0)

    def at_once(variant: Variant) -> int:
        return threads if variant.runtime == "onnx" else 1

    # The most precise goes first, to hold the others against, even where settings want another.
    trials = tried(ways if ways[0] == _PRECISE else [_PRECISE, *ways], load, at_once, timed=len(ways) > 1)
    wanted = [trial for trial in trials if trial.variant in ways]
    if not wanted:
        raise ValueError(f"the model cannot be run as {ways}: the log says why")
    found = best(wanted) if wanted[0].is_equal else wanted[0]
    if not may_compile(device, compiled):
        return found
    faster = Variant(found.variant.runtime, found.variant.dtype, True)
    return _the_better(found, tried([found.variant, faster], load, at_once))


def _the_better(found: Trial, trials: list[Trial]) -> Trial:
    """The compiled one, if it pays: its likeness is to the one that it is compiled from."""
    better = best(trials)
    return Trial(better.variant, min(found.cosine, better.cosine), better.cost_s)


def _measured_batch(settings: EmbedderSettings, device: Device, encode: Encode) -> int:
    if not settings.calibrate:
        return usual_batch_tokens(device)

    def run(tokens: int) -> None:
        encode([_TEXT] * (tokens // _TEXT_TOKENS))

    return batch_tokens(batch_ladder(device), run)


def _key(settings: EmbedderSettings, device: Device, revision: str, threads: int) -> str:
    versions = {library: importlib.metadata.version(library) for library in _LIBRARIES}
    given = {name: getattr(settings, name) for name in _SETTINGS}
    parts = [settings.model, revision, asdict(device), threads, versions, given, LEAST_COSINE]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
