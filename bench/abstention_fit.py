"""Fits the weights by which the reader says "nothing relevant", for the bundled model.

usage: python -m bench.abstention_fit DIR

DIR holds `docs.jsonl.gz` and `queries.jsonl.gz`, documents grouped by `title`. Each language's groups are dealt into
two namespaces, and each question is asked in both: in one its article is there, in the other it is absent. Weights are
fitted on the questions about half of the groups and tried on those about the other half. Prints the weights for
`services/reader/retrieval/tuning.py` and the trade between false answers and lost ones.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import numpy as np
import numpy.typing as npt

from services.embedder.backend import Backend, InputType
from services.embedder.backends.selection import load_backend
from services.embedder.settings import EmbedderSettings
from services.reader.retrieval import tuning
from services.reader.retrieval.abstention import judge
from services.reader.retrieval.lexical import by_words
from services.reader.retrieval.script import is_latin
from services.reader.retrieval.vector import by_meaning
from services.reader.rows import Filter
from services.reader.store import Snapshot, Store
from services.reader.view import View
from shared.database import Database
from shared.embedded_postgres import start
from shared.halfvec import encode_halfvec
from shared.schema.migrate import migrate
from shared.settings import DatabaseSettings

Matrix = npt.NDArray[np.float64]

EXACT_SCAN_ROWS = 20_000
RIDGE = 1e-3
STEPS = 50
LOST_SHARES = (0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Asked:
    """One question in one namespace: what retrieval says of it, and whether its article is there."""

    group: str
    category: str
    present: bool
    features: tuple[float, float, float]

    @property
    def is_one_language(self) -> bool:
        """Whether question and documents are in one language, as the category `from->to` tells."""
        asked, found = self.category.split("->")
        return asked == found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    folder = arguments.parse_args().folder
    with tempfile.TemporaryDirectory(prefix="abstention-", ignore_cleanup_errors=True) as data:
        Path(data).chmod(0o777)  # Postgres runs as another account
        with start(Path(data) / "postgres") as server:
            asked = asyncio.run(ask_all(server.dsn(), folder, load_backend(EmbedderSettings())))
    same = [one for one in asked if one.is_one_language]
    other = [one for one in asked if not one.is_one_language]
    report("same script", same, (0, 1, 2))
    report("same script, without words", same, (0, 1))
    report("other script", other, (0, 1))


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def side(group: str, salt: str) -> int:
    return hashlib.sha256(f"{salt}{group}".encode()).digest()[0] % 2


async def ask_all(dsn: str, folder: Path, model: Backend) -> list[Asked]:
    documents = list(records(folder / "docs.jsonl.gz"))
    await migrate(dsn, timeout_s=60)
    await load(dsn, documents, model)
    database = Database.open(DatabaseSettings(dsn=dsn))
    try:
        return await ask(Store(database), documents, list(records(folder / "queries.jsonl.gz")), model)
    finally:
        await database.close()


async def load(dsn: str, documents: Sequence[dict[str, Any]], model: Backend) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
    table = "vectors_" + model.fingerprint.id.removeprefix("fp-")
    await connection.execute("SELECT create_vector_table($1, $2)", table, model.fingerprint.dimension)
    await connection.execute(
        "INSERT INTO embedding_spaces VALUES ($1, 'm', 'r', '', '', 'mean', $2, true, $3, 'active')",
        model.fingerprint.id,
        model.fingerprint.dimension,
        table,
    )
    texts = [f"{document['title']}\n{document['text']}" for document in documents]
    vectors = encoded(model, texts, InputType.PASSAGE)
    for document, vector in zip(documents, vectors, strict=True):
        namespace = f"{document['namespace']}-{side(document['title'], 'namespace')}"
        passage_id = await connection.fetchval(
            "INSERT INTO passages (namespace, kind, owner_key, title, text, token_count, embedding_hash, occurred_at)"
            " VALUES ($1, 1, $2, $3, $4, 1, '', now()) RETURNING passage_id",
            namespace,
            document["id"],
            document["title"],
            document["text"],
        )
        await connection.execute(
            f"INSERT INTO {table} VALUES ($1, $2, '', 1, '{{}}', '{{}}', false, $3)",
            namespace,
            passage_id,
            encode_halfvec(vector),
        )
    await connection.close()


def encoded(model: Backend, texts: Sequence[str], kind: InputType) -> list[npt.NDArray[np.float32]]:
    """One vector a text; long ones are cut into windows, whose vectors are averaged."""
    vectors = []
    for cut in model.cut(list(texts), kind):
        mean = np.mean(np.asarray(model.encode(cut.windows), dtype=np.float32), axis=0)
        vectors.append(mean / np.linalg.norm(mean))
    return vectors


async def ask(
    store: Store, documents: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]], model: Backend
) -> list[Asked]:
    groups = {document["id"]: document["title"] for document in documents}
    distinct = sorted({question["text"] for question in questions})
    vectors = dict(zip(distinct, encoded(model, distinct, InputType.QUERY), strict=True))
    asked = []
    for question in questions:
        # The article of a question without an answer is nowhere: absent from both.
        group = groups[question["relevant"][0]] if question["relevant"] else None
        for half in (0, 1):
            features = await features_of(
                store, f"{question['namespace']}-{half}", question["text"], encode_halfvec(vectors[question["text"]])
            )
            present = group is not None and half == side(group, "namespace")
            asked.append(
                Asked(group or question["id"], question["category"].removesuffix(" absent"), present, features)
            )
    return asked


async def features_of(store: Store, namespace: str, text: str, vector: bytes) -> tuple[float, float, float]:
    """Top cosine, gap and coverage, exactly as the reader sees them."""

    async def work(snapshot: Snapshot) -> tuple[float, float, float]:
        space = await snapshot.prepare_search(EXACT_SCAN_ROWS)
        found = await snapshot.search(
            space, words=text, vector=vector, approximate=False, wanted=Filter(), limit=tuning.SIGNAL_CANDIDATES
        )
        relevance = judge(
            by_words(found), by_meaning(found), space.fingerprint, asked_in_latin=is_latin(text)
        ).relevance
        return relevance.top_cosine or 0.0, relevance.cosine_gap or 0.0, relevance.word_coverage or 0.0

    return await store.snapshot(View(namespace, (), sees_all=True), work, timeout_s=60)


def report(name: str, asked: Sequence[Asked], columns: tuple[int, ...]) -> None:
    fitted = [one for one in asked if side(one.group, "fit") == 0]
    held = [one for one in asked if side(one.group, "fit") == 1]
    weights = logistic(*matrix(fitted, columns))
    print(f"\n{name}: intercept and weights of top cosine, gap, coverage {columns}: {np.round(weights, 2).tolist()}")
    for label, part in (("fitted", fitted), ("held out", held)):
        features, present = matrix(part, columns)
        scores = features @ weights
        print(f"  {label}: AUROC {auroc(scores, present):.4f}")
        for lost in LOST_SHARES:
            limit = np.quantile(scores[present == 1], lost)
            print(
                f"    {lost:.0%} of true answers lost: {np.mean(scores[present == 0] >= limit):.3f} false answers,"
                f" threshold {1 / (1 + np.exp(-limit)):.3f}"
            )
    for category in sorted({one.category for one in held}):
        features, present = matrix([one for one in held if one.category == category], columns)
        scores = features @ weights
        print(
            f"  {category} at 0.5: lost {np.mean(scores[present == 1] < 0):.3f},"
            f" false {np.mean(scores[present == 0] >= 0):.3f}, AUROC {auroc(scores, present):.4f}"
        )


def matrix(asked: Sequence[Asked], columns: tuple[int, ...]) -> tuple[Matrix, Matrix]:
    features = np.array([[1.0, *(one.features[column] for column in columns)] for one in asked])
    return features, np.array([float(one.present) for one in asked])


def logistic(features: Matrix, labels: Matrix) -> Matrix:
    """Weights of a logistic regression by Newton's method, with a slight ridge."""
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (labels - probability) - RIDGE * weights
        curvature = (features.T * (probability * (1 - probability))) @ features + RIDGE * np.eye(len(weights))
        weights = weights + np.linalg.solve(curvature, slope)
    return weights


def auroc(scores: Matrix, labels: Matrix) -> float:
    """Probability that a question whose article is there scores above one whose article is not."""
    ranks = np.argsort(np.argsort(scores)) + 1
    positives = labels.sum()
    return float((ranks[labels == 1].sum() - positives * (positives + 1) / 2) / (positives * (len(labels) - positives)))


if __name__ == "__main__":
    main()
