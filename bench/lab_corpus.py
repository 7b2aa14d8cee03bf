"""A folder as retrieval sees it, offline: passages, vectors and lexemes, cached so that trials take seconds."""

import asyncio
import hashlib
import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np
import numpy.typing as npt

from bench import folder as data
from services.embedder.backend import InputType, Window
from services.embedder.backends.bundled import BundledBackend, load_bundled
from services.embedder.settings import EmbedderSettings
from services.embedder.windows import averaged
from services.writer.projection.chunking import PLAIN, chunk_text
from services.writer.projection.passages import embedded_text
from shared.embedded_postgres import start
from shared.schema.migrate import migrate

Floats = npt.NDArray[np.float32]
BATCH_TEXTS = 32

_LEXEMES = """
SELECT
    lexeme,
    positions,
    lexeme = ANY (stems.found) AS is_term,
    to_tsvector('pg_catalog.russian', lexeme) <> ''::tsvector AS has_stem
FROM (SELECT tsvector_to_array(to_tsvector('pg_catalog.russian', normal_form($1))) AS found) AS stems,
    unnest(lexemes($1))
"""


@dataclass(frozen=True)
class Passage:
    """A chunk as the writer cuts it."""

    document: str
    namespace: str
    title: str
    heading: str
    text: str
    stream: str
    author: str
    time: str

    @property
    def embedded(self) -> str:
        """What the embedder is given of it."""
        return embedded_text(self.title, self.heading, self.text)

    @property
    def searched(self) -> str:
        """What its lexemes are of."""
        return f"{self.title}\n{self.heading}\n{self.text}"


Labels = Callable[[Any], tuple[str, str]]


def labels_now(observation: Any) -> tuple[str, str]:
    """Title and heading that the writer gives to the content of an observation."""
    return observation.actor.id or observation.subject.id or observation.kind, _date(observation)


def labels_dated(observation: Any) -> tuple[str, str]:
    """The same with what a person said begun as minutes are: when, who, a colon."""
    if not observation.actor.id:
        return labels_now(observation)
    return f"[{_date(observation)}] {observation.actor.id}:", ""


LABELS: dict[str, Labels] = {"people": labels_now, "dated": labels_dated}
"""Titles and headings to try."""


def _date(observation: Any) -> str:
    return str(observation.occurred_at.ToDatetime().date().isoformat())


@dataclass(frozen=True)
class Lexeme:
    """A lexeme with where it stands; a term is a stem, and an exact form without one is a stop word."""

    positions: tuple[int, ...]
    is_term: bool
    has_stem: bool


@dataclass(frozen=True)
class Corpus:
    """A folder with all that rankings need; passages of a namespace in the order in which they were recorded."""

    name: str
    passages: list[Passage]
    questions: list[data.Question]
    vectors: Floats
    query_vectors: Floats
    lexemes: list[dict[str, Lexeme]]
    query_lexemes: list[dict[str, Lexeme]]


def load(folder: Path, cache: Path, labels: Labels = labels_now) -> Corpus:
    """Reads a folder; vectors and lexemes are computed once and kept in `cache`."""
    passages = [passage for namespace, one in data.documents(folder) for passage in _passages(namespace, one, labels)]
    questions = data.questions(folder)
    texts = [question.text for question in questions]
    cache.mkdir(parents=True, exist_ok=True)
    searched = [passage.searched for passage in passages]
    lexemes = _kept(cache, "lexemes", searched + texts, lambda: _lexemes(searched + texts))
    return Corpus(
        folder.name, passages, questions,
        vectors(cache, [passage.embedded for passage in passages], InputType.PASSAGE),
        vectors(cache, texts, InputType.QUERY),
        lexemes[: len(passages)], lexemes[len(passages) :],
    )  # fmt: skip


def vectors(cache: Path, texts: Sequence[str], kind: InputType) -> Floats:
    """Vectors of texts as the embedder service gives them."""

    def computed() -> Floats:
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        model = load_bundled(EmbedderSettings(threads=1))
        found = dict(zip(distinct, _encoded(model, distinct, kind), strict=True))
        # The database keeps half precision.
        return np.stack([found[text] for text in texts]).astype(np.float16).astype(np.float32)

    found: Floats = _kept(cache, f"vectors-{kind.name.lower()}", texts, computed)
    return found


def _encoded(model: BundledBackend, texts: Sequence[str], kind: InputType) -> Floats:
    cuts = model.cut(texts, kind)
    windows: list[Window] = [window for cut in cuts for window in cut.windows]
    encoded = [model.encode(windows[at : at + BATCH_TEXTS]) for at in range(0, len(windows), BATCH_TEXTS)]
    return averaged(
        np.concatenate(encoded), [window.weight for window in windows], [len(cut.windows) for cut in cuts]
    )  # fmt: skip


def _passages(namespace: str, observation: Any, labels: Labels) -> list[Passage]:
    title, heading = labels(observation)
    pieces = [(title, heading, piece.text) for piece in chunk_text(observation.content, PLAIN)]
    for assertion in observation.assertions:
        pieces += [(assertion.document.title, part.heading, part.text) for part in chunk_text(assertion.document.text)]
    return [
        Passage(
            observation.source.external_id, namespace, *piece, observation.source.stream, observation.actor.id,
            _date(observation),
        )
        for piece in pieces
    ]  # fmt: skip


def _lexemes(texts: Sequence[str]) -> list[dict[str, Lexeme]]:
    with tempfile.TemporaryDirectory(prefix="fusion-lab-", ignore_cleanup_errors=True) as own:
        Path(own).chmod(0o777)  # Postgres runs as another account
        with start(Path(own) / "postgres") as server:
            return asyncio.run(_analysed(server.dsn(), texts))


async def _analysed(dsn: str, texts: Sequence[str]) -> list[dict[str, Lexeme]]:
    await migrate(dsn, timeout_s=60)
    connection = await asyncpg.connect(dsn)
    statement = await connection.prepare(_LEXEMES)
    found = [
        {row[0]: Lexeme(tuple(row[1]), row[2], row[3]) for row in await statement.fetch(text)} for text in texts
    ]  # fmt: skip
    await connection.close()
    return found


def _kept(cache: Path, name: str, inputs: Sequence[str], computed: Callable[[], Any]) -> Any:
    checksum = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]
    path = cache / f"{name}-{checksum}.pickle"
    if not path.exists():
        path.write_bytes(pickle.dumps(computed()))
    return pickle.loads(path.read_bytes())
