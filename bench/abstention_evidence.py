"""The evidence of questions whose answers are stored, absent or of another store: what abstention is fitted on."""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import cycle, islice
from pathlib import Path

from palimpsest.v1 import observation_pb2, writer_service_pb2

from bench import folder as data
from bench.quality import BATCH, LOAD_TIMEOUT_S, record
from bench.system import connected
from cli.system import Plan, run_system
from services.reader.embedder_client import EmbedderClient
from services.reader.retrieval.abstention import Evidence
from services.reader.retrieval.retrieve import Query, Retrieved, Retriever
from services.reader.store import Snapshot, Store
from services.reader.view import View
from shared.database import Database
from shared.embedded_postgres import start
from shared.settings import DatabaseSettings

EXACT_SCAN_ROWS = 20_000
TIMEOUT_S = 60
OTHER_STORES = 2


class Kind(Enum):
    """What is known of a question and the store that it is asked of."""

    PRESENT = "present"
    ABSENT = "absent"
    """Its article is in another namespace of the folder."""
    NOWHERE = "nowhere"
    """Its article is in no namespace."""
    FOREIGN = "foreign"
    """It is asked of another folder, or of another conversation."""
    PERSON = "of another person"


@dataclass(frozen=True)
class Asked:
    """One question in one namespace, with what retrieval had to judge by."""

    folder: str
    category: str
    kind: Kind
    half: int
    is_across: bool
    """Whether question and store are in different languages."""
    evidence: Evidence

    @property
    def is_answerable(self) -> bool:
        """Whether the answer is there."""
        return self.kind is Kind.PRESENT


@dataclass(frozen=True)
class _Folder:
    path: Path
    groups: dict[str, str]
    """The article, conversation or page of each document."""
    languages: dict[str, str]
    """Of each namespace."""
    is_dealt: bool
    """Whether its articles are dealt into two namespaces."""

    def home(self, namespace: str, group: str) -> str:
        """The namespace where a group is."""
        return f"{namespace}-{side(group, 'namespace')}" if self.is_dealt else namespace


def gather(folders: Sequence[Path]) -> list[Asked]:
    """Records the folders in a fresh system and asks all their questions."""
    with tempfile.TemporaryDirectory(prefix="abstention-", ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)  # Postgres runs as another account
        (Path(place) / "data").mkdir()
        with start(Path(place) / "postgres") as server:
            return asyncio.run(_gather(server.dsn(), Path(place) / "data", [_read(path) for path in folders]))


def side(group: str, salt: str) -> int:
    """0 or 1, by a group's name."""
    return hashlib.sha256(f"{salt}{group}".encode()).digest()[0] % 2


def _read(path: Path) -> _Folder:
    rows = list(data.lines(path / "docs.jsonl.gz"))
    is_dealt = any(row.get("title") for row in rows)
    return _Folder(
        path,
        {row["id"]: row.get("title") or (row["namespace"] if "author" in row else _page(row["id"])) for row in rows},
        {row["namespace"]: row["lang"] for row in rows},
        is_dealt,
    )


def _page(document: str) -> str:
    """A page's name without its language, so that its translations are in one half."""
    return document.rpartition("-")[0] or document


async def _gather(dsn: str, place: Path, folders: Sequence[_Folder]) -> list[Asked]:
    stop, serving = asyncio.Event(), asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        run_system(Plan(place, (0, 0, 0), dsn), stop=stop, say=lambda _: None, ready=serving.set_result)
    )
    endpoints = await serving
    database = Database.open(DatabaseSettings(dsn=dsn))
    embedder = EmbedderClient(endpoints.embedder, timeout_s=TIMEOUT_S, cached_queries=10_000)
    try:
        for folder in folders:
            await asyncio.to_thread(_load, [endpoints.writer, endpoints.reader, endpoints.embedder], folder)
        retriever = Retriever(Store(database), embedder, EXACT_SCAN_ROWS)
        return [asked for folder in folders for asked in await _ask(retriever, folder, folders)]
    finally:
        await embedder.close()
        await database.close()
        stop.set()
        await running


def _load(targets: list[str], folder: _Folder) -> None:
    waiting: dict[str, list[observation_pb2.Observation]] = {}
    for namespace, observation in data.documents(folder.path):
        home = folder.home(namespace, folder.groups[observation.source.external_id])
        waiting.setdefault(home, []).append(observation)
    with connected(targets) as target:
        for namespace, observations in waiting.items():
            for first in range(0, len(observations), BATCH):
                record(target, namespace, observations[first : first + BATCH])
            request = writer_service_pb2.WaitForEmbeddingRequest(namespace=namespace)
            target.writer.WaitForEmbedding(request, timeout=LOAD_TIMEOUT_S)


async def _ask(retriever: Retriever, folder: _Folder, folders: Sequence[_Folder]) -> list[Asked]:
    asked = []
    strangers = cycle(
        sorted(
            (other.home(name, "x"), language)
            for other in folders
            if other is not folder
            for name, language in other.languages.items()
        )
    )
    order = sorted(set(folder.groups.values()))
    for question in data.questions(folder.path):
        group = folder.groups[min(question.relevant)] if question.relevant else question.id
        half = order.index(group) % 2 if group in order else side(group, "half")
        asked_in = question.category[:2] if "->" in question.category else folder.languages[question.namespace]
        for namespace, language, kind in [*_own(folder, question, group), *_others(folder, question, strangers)]:
            evidence = await _evidence(retriever, namespace, question.text)
            category = f"{asked_in}->{language}"
            asked.append(Asked(folder.path.name, category, kind, half, asked_in != language, evidence))
    return asked


def _own(folder: _Folder, question: data.Question, group: str) -> Iterator[tuple[str, str, Kind]]:
    language = folder.languages[question.namespace]
    home = folder.home(question.namespace, group)
    if not question.answerable and question.relevant:
        yield home, language, Kind.PERSON
    elif question.answerable and question.relevant:
        yield home, language, Kind.PRESENT
    if folder.is_dealt:
        halves = [f"{question.namespace}-{half}" for half in (0, 1)]
        kind = Kind.ABSENT if question.relevant else Kind.NOWHERE
        yield from ((name, language, kind) for name in halves if not question.relevant or name != home)


def _others(
    folder: _Folder, question: data.Question, strangers: Iterator[tuple[str, str]]
) -> Iterator[tuple[str, str, Kind]]:
    if not question.relevant or not question.answerable:
        return
    conversations = sorted(folder.languages)
    if not folder.is_dealt and len(conversations) > OTHER_STORES:
        place = conversations.index(question.namespace)
        for step in range(1, OTHER_STORES + 1):
            other = conversations[(place + step) % len(conversations)]
            yield other, folder.languages[other], Kind.FOREIGN
        return
    for name, language in islice(strangers, OTHER_STORES):
        yield name, language, Kind.FOREIGN


async def _evidence(retriever: Retriever, namespace: str, text: str) -> Evidence:
    async def work(_: Snapshot, found: Retrieved) -> Evidence:
        return found.evidence

    return await retriever.find(View(namespace, (), sees_all=True), Query(text), work, timeout_s=TIMEOUT_S)
