"""EM-1: the choice among ways to run a model, on models made by hand and devices that are only described."""

from dataclasses import dataclass

import numpy as np
import pytest

from services.embedder.backends import calibrated, calibration
from services.embedder.backends.calibrated import Choice, choice
from services.embedder.backends.calibration import PROBES, batch_tokens, best, tried
from services.embedder.backends.device_plan import Device, Variant
from services.embedder.settings import EmbedderSettings

FLOAT32, FLOAT16, BFLOAT16 = (Variant("torch", each) for each in ("float32", "float16", "bfloat16"))
COMPILED, ONNX, INT8 = Variant("torch", "float16", True), Variant("onnx"), Variant("onnx", "int8")
CPU, CUDA = Device("cpu", "cpu", has_bfloat16=True), Device("cuda", "cuda:0", "a GPU", (9, 0))


@dataclass
class Way:
    """A model whose vectors are a bit off by an angle, and that takes a time that is given."""

    cost: float
    cosine: float = 1.0

    def __call__(self, texts):
        if self.cosine != self.cosine:
            return np.full((len(texts), 2), np.nan, np.float32)
        return np.array([[self.cosine, (1 - self.cosine**2) ** 0.5]] * len(texts), np.float32)


@pytest.fixture
def ways(monkeypatch):
    """Ways by variant, which a test fills, and what was loaded of them."""
    made, loaded = {}, []

    def load(variant):
        loaded.append(variant)
        way = made[variant]
        if isinstance(way, Exception):
            raise way
        return way

    monkeypatch.setattr(calibration, "cost", lambda encode, at_once=1: encode.cost / at_once)
    monkeypatch.setattr(calibrated, "batch_tokens", lambda ladder, run: ladder[1])
    load.made, load.loaded = made, loaded
    return load


@pytest.mark.parametrize(
    ("made", "chosen"),
    [
        ({FLOAT32: Way(4), FLOAT16: Way(2), BFLOAT16: Way(1, 0.998)}, FLOAT16),
        ({FLOAT32: Way(4), FLOAT16: Way(2, float("nan")), BFLOAT16: Way(3, 0.9991)}, BFLOAT16),
        ({FLOAT32: Way(4), FLOAT16: Way(3.8), BFLOAT16: Way(3.9)}, FLOAT32),
        ({FLOAT32: Way(4), FLOAT16: RuntimeError("no kernel"), BFLOAT16: Way(1)}, BFLOAT16),
        ({FLOAT32: RuntimeError("out of memory"), FLOAT16: Way(2), BFLOAT16: Way(1, 0.99)}, FLOAT16),
    ],
)
def test_the_fastest_of_the_equal_is_chosen(ways, made, chosen):
    """EM-1: equal is a cosine of 0.999 and more to the most precise that runs; a bit faster is not enough."""
    ways.made.update(made)
    assert best(tried(made, ways)).variant == chosen


def test_what_fails_altogether_is_said(ways):
    ways.made.update({FLOAT32: OSError("not there"), FLOAT16: RuntimeError("the last")})
    with pytest.raises(RuntimeError, match="the last"):
        tried(ways.made, ways)


def test_probes_are_of_all_kinds():
    """EM-1: long and short, both scripts, mixed, an emoji."""
    assert max(map(len, PROBES)) > 1_500
    assert {"😀", "a"} <= set(PROBES)
    assert any("А" <= char <= "я" for probe in PROBES for char in probe)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({1: 0.01, 2: 0.01, 4: 0.011, 8: 0.022}, 4),
        ({1: 0.01, 2: 0.02, 4: 0.04}, 1),
        ({1: 0.01, 2: 0.019, 4: 0.02, 8: 0.04}, 4),
        ({1: 0.3, 2: 0.4, 4: 0.6, 8: 0.7}, 2),
        ({1: 0.01, 2: 0.01, 4: MemoryError()}, 2),
        ({1: 9.0, 2: 9.0}, 1),
        ({1: MemoryError()}, 1),
    ],
)
def test_the_least_batch_that_is_fast_is_chosen(seconds, expected):
    """EM-1: by what a device does a second; a batch that takes long, or does not fit its memory, ends the way up."""
    now = 0.0

    def run(budget):
        nonlocal now
        if isinstance(seconds[budget], Exception):
            raise seconds[budget]
        now += seconds[budget]

    assert batch_tokens(list(seconds), run, lambda: now) == expected


def settings_of(tmp_path, **changes):
    return EmbedderSettings(backend="sentence-transformers", model="m", cache_folder=tmp_path, **changes)


def chosen(ways, settings, device, revision="1"):
    return choice(settings, device, revision, ways, threads=2)


def test_on_cuda_type_and_compiling_are_chosen_once(ways, tmp_path):
    """EM-1: by what was measured, and a restart measures nothing."""
    ways.made.update({FLOAT32: Way(8), FLOAT16: Way(4), BFLOAT16: Way(3, 0.99), COMPILED: Way(2)})
    settings = settings_of(tmp_path)
    first = chosen(ways, settings, CUDA)
    assert first == Choice(COMPILED, True, 16_384)
    ways.loaded.clear()
    assert chosen(ways, settings, CUDA) == first
    assert ways.loaded == []


@pytest.mark.parametrize("compiled", [Way(3.9), RuntimeError("no compiler"), Way(1, 0.9)])
def test_what_compiling_does_not_better_is_left(ways, tmp_path, compiled):
    """EM-1: where it is hardly faster, fails, or gives other vectors."""
    ways.made.update({FLOAT32: Way(8), FLOAT16: Way(4), BFLOAT16: Way(4), COMPILED: compiled})
    assert chosen(ways, settings_of(tmp_path), CUDA).variant == FLOAT16


def test_compiling_that_takes_too_long_is_left(ways, tmp_path, monkeypatch):
    """EM-1: it would take as long at each start."""
    monkeypatch.setattr(calibration, "LONGEST_COMPILING_S", -1.0)
    ways.made.update({FLOAT32: Way(8), FLOAT16: Way(4), BFLOAT16: Way(4), COMPILED: Way(1)})
    assert chosen(ways, settings_of(tmp_path), CUDA).variant == FLOAT16


def test_another_device_model_or_setting_is_measured_anew(ways, tmp_path):
    """EM-1: what was found holds for nothing else."""
    ways.made.update({FLOAT32: Way(8), FLOAT16: Way(4), BFLOAT16: Way(9), COMPILED: Way(9)})
    chosen(ways, settings_of(tmp_path), CUDA)
    for settings, device, revision in (
        (settings_of(tmp_path), Device("cuda", "cuda:0", "another GPU", (8, 0)), "1"),
        (settings_of(tmp_path), CUDA, "2"),
        (settings_of(tmp_path, compile="off"), CUDA, "1"),
    ):
        ways.loaded.clear()
        chosen(ways, settings, device, revision)
        assert ways.loaded


def test_onnx_runs_a_batch_a_core(ways, tmp_path):
    """EM-1: so half of its time on two cores is to be held against torch's."""
    ways.made.update({FLOAT32: Way(4), BFLOAT16: Way(3.9), ONNX: Way(6)})
    assert chosen(ways, settings_of(tmp_path), CPU).variant == ONNX


@pytest.mark.parametrize("onnx", [Way(1, 0.99), Way(9), ValueError("cannot be exported")])
def test_onnx_that_is_no_better_is_left(ways, tmp_path, onnx):
    """EM-1: where it is slower, gives other vectors, or cannot be had."""
    ways.made.update({FLOAT32: Way(4), BFLOAT16: Way(3.9), ONNX: onnx})
    assert chosen(ways, settings_of(tmp_path), CPU).variant == FLOAT32


def test_onnx_that_is_demanded_must_be_equal(ways, tmp_path):
    """EM-1: it is refused rather than served under the model's name."""
    ways.made.update({FLOAT32: Way(4), ONNX: Way(1, 0.99)})
    with pytest.raises(ValueError, match=r"cosine 0\.9900"):
        chosen(ways, settings_of(tmp_path, runtime="onnx"), CPU)
    ways.made[ONNX] = Way(9)
    assert chosen(ways, settings_of(tmp_path, runtime="onnx"), CPU) == Choice(ONNX, True, 1_024)


def test_a_type_that_is_demanded_is_told_apart_where_its_vectors_are_others(ways, tmp_path):
    """EM-4: whole numbers always are, others by what they give."""
    ways.made.update({FLOAT32: Way(4), FLOAT16: Way(4, 0.9995), BFLOAT16: Way(4, 0.998), INT8: Way(1, 0.9999)})
    told = {
        dtype: chosen(ways, settings_of(tmp_path, dtype=dtype), CPU).is_equal
        for dtype in ("float16", "bfloat16", "int8")
    }
    assert told == {"float16": True, "bfloat16": False, "int8": False}


def test_without_calibration_nothing_is_loaded(ways, tmp_path):
    """EM-1: what suits the device, on trust, or what the settings say."""
    settings = settings_of(tmp_path, calibrate=False)
    assert chosen(ways, settings, CPU) == Choice(FLOAT32, True, 2_048)
    assert chosen(ways, settings, CUDA) == Choice(FLOAT16, True, 65_536)
    assert chosen(ways, settings_of(tmp_path, calibrate=False, batch_tokens=100), CPU).batch_tokens == 100
    assert ways.loaded == []


def test_a_batch_that_is_set_is_not_measured(ways, tmp_path):
    ways.made.update({FLOAT32: Way(4), BFLOAT16: Way(4), ONNX: Way(9)})
    assert chosen(ways, settings_of(tmp_path, batch_tokens=100), CPU).batch_tokens == 100
