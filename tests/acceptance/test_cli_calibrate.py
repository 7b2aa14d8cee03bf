"""`palimpsest calibrate` against a real system with the bundled model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from palimpsest.client import Client
from palimpsest.v1.namespace_pb2 import NamespaceSettings
from palimpsest.v1.reader_service_pb2 import GetNamespaceRequest, SearchRequest
from palimpsest.v1.writer_service_pb2 import UpdateNamespaceSettingsRequest, WaitForEmbeddingRequest

from cli.endpoints import find_endpoints
from tests.acceptance.test_cli import Running, folder, observation, up

NOTES = (
    "The ingress controller was restarted after the certificate of the gateway had expired.",
    "Helm chart of the payment service was pinned to version 1.2 because of broken probes.",
    "Terraform state was moved to another bucket with versioning and server side encryption.",
    "Nightly backups of the billing database are kept for thirty days in cold storage.",
    "Grafana dashboards of the search cluster were rebuilt after the metrics were renamed.",
    "Pods of the recommender were evicted since memory limits had been set far too low.",
    "Обновили сертификат балансировщика, старый истекал в конце следующего месяца.",
    "Очередь сообщений переполнилась, потому что потребитель заказов остановился ночью.",
    "Переезд кластера мониторинга назначили на вторую половину ноября, после распродаж.",
    "Доступ подрядчиков к репозиторию отозвали, новые ключи выдаёт дежурный администратор.",
)
ABSENT = (
    "how to boil pasta",
    "zxqv blorp",
    "who won the football match",
    "рецепт яблочного пирога",
    "когда родился Пушкин",
)
ANSWERED = (
    "why was the ingress controller restarted",
    "how long are backups of the billing database kept",
    "where is the terraform state",
    "почему переполнилась очередь сообщений",
    "кто выдаёт новые ключи подрядчикам",
)


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    """A system with notes in one namespace, all with their vectors."""
    lines = "\n".join(observation(number, content=note, actor=None) for number, note in enumerate(NOTES))
    with folder() as place, up(place / "data") as running:
        assert running.palimpsest("record", "-n", "ops", stdin=lines).code == 0
        with client(running) as connected:
            connected.writer.WaitForEmbedding(WaitForEmbeddingRequest(namespace="ops"), timeout=60)
        yield running


def client(system: Running) -> Client:
    endpoints = find_endpoints(None, system.data)
    return Client(writer=endpoints.writer, reader=endpoints.reader, embedder=endpoints.embedder)


def settings(system: Running) -> NamespaceSettings:
    with client(system) as connected:
        found: NamespaceSettings = connected.reader.GetNamespace(
            GetNamespaceRequest(namespace="ops")
        ).namespace.settings
        return found


def test_labelled_questions_set_the_threshold(system: Running, tmp_path: Path) -> None:
    """RE-4, NS-2: the curve, what is in force and what to take; stored under the fingerprint, beside what is there."""
    rows = [{"text": text, "answerable": True} for text in ANSWERED]
    rows += [{"text": text, "answerable": False} for text in ABSENT]
    (tmp_path / "questions.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    with client(system) as connected:
        before = NamespaceSettings(tuning={"fusion.vector_weight": 0.5})
        connected.writer.UpdateNamespaceSettings(UpdateNamespaceSettingsRequest(namespace="ops", settings=before))

    file = str(tmp_path / "questions.jsonl")
    [told] = system.palimpsest("calibrate", file, "-n", "ops", "--json").lines
    assert (told["answerable"], told["unanswerable"], told["stored"]) == (5, 5, False)
    assert (told["in_force"]["false_answers"], told["in_force"]["lost"]) == (0.0, 0.0)
    assert told["recommended"] == told["in_force"]
    assert [point["lost"] for point in told["curve"]] == sorted(point["lost"] for point in told["curve"])
    assert dict(settings(system).tuning) == {"fusion.vector_weight": 0.5}

    shown = system.palimpsest("calibrate", file, "-n", "ops", "--apply")
    assert shown.code == 0, shown.err
    assert "recommended" in shown.out
    assert "Few questions" in shown.err
    assert told["tuning"].startswith("abstention_threshold.fp-")
    assert dict(settings(system).tuning) == {
        "fusion.vector_weight": 0.5,
        told["tuning"]: told["recommended"]["threshold"],
    }


def test_the_stored_threshold_acts(system: Running) -> None:
    """RE-4, NS-2: a namespace may ask for less, and go back."""
    nonsense = SearchRequest(namespace="ops", query=ABSENT[0])
    with client(system) as connected:
        lenient = NamespaceSettings(tuning={"abstention_threshold": 0.0})
        connected.writer.UpdateNamespaceSettings(UpdateNamespaceSettingsRequest(namespace="ops", settings=lenient))
        answered = connected.reader.Search(nonsense)
        plain = NamespaceSettings()
        connected.writer.UpdateNamespaceSettings(UpdateNamespaceSettingsRequest(namespace="ops", settings=plain))
        withheld = connected.reader.Search(nonsense)

    assert answered.hits
    assert (answered.relevance.threshold, withheld.relevance.threshold > 0.0) == (0.0, True)
    assert answered.relevance.score == withheld.relevance.score
    assert not withheld.hits


def test_questions_are_made_of_what_is_stored(system: Running) -> None:
    """RE-4: without labels; the words of a text, where it is and where it is not."""
    ended = system.palimpsest("calibrate", "-n", "ops", "--sample", "10", "--lost", "0.1", "--json")

    assert ended.code == 0, ended.err
    [told] = ended.lines
    assert told["answerable"] == told["unanswerable"] == 10
    assert told["curve"][0]["lost"] == 0.0
    assert told["recommended"]["lost"] <= 0.1
    # Notes of one team are near to each other: some of what is asked stands in another note, too.
    assert told["in_force"]["false_answers"] <= 0.4


def test_too_few_questions_are_refused(system: Running, tmp_path: Path) -> None:
    """RE-4: nothing is recommended on next to nothing."""
    (tmp_path / "few.jsonl").write_text('{"text": "a", "answerable": true}\n')

    assert system.palimpsest("calibrate", str(tmp_path / "few.jsonl"), "-n", "ops").code == 3
    assert system.palimpsest("calibrate", "-n", "nowhere").code == 3
