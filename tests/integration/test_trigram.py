"""Misspelt names and parts of identifiers, found by their trigrams through the service."""

from __future__ import annotations

from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.rows import Filter
from services.reader.search_statement import SETTINGS, names_statement, search_arguments
from shared.database import Database
from tests.integration.reader_process import Vectors, embed_all
from tests.integration.reader_seed import NAMESPACE, Seed

pytest_plugins = ("tests.integration.reader_fixtures",)

LEXICAL = retrieval.SEARCH_MODE_LEXICAL
NOTES = (
    "Деплой прошёл, что делал дежурный, неизвестно",
    "Записали, кто что делал на выходных",
    "Она спросила, что делал сервер ночью",
    "The deployment was rolled back by the on-call engineer",
    "Обсудили бюджет на следующий квартал",
    "Rate limits were raised for partner keys",
)


async def search(reader: ReaderServiceStub, query: str, **fields: Any) -> pb.SearchResponse:
    response: pb.SearchResponse = await reader.Search(pb.SearchRequest(namespace=NAMESPACE, query=query, **fields))
    return response


def texts(response: pb.SearchResponse) -> list[str]:
    return [hit.chunk.text or hit.fact.sentence or hit.entity.title for hit in response.hits]


async def named(seed: Seed, key: str, title: str, **columns: Any) -> None:
    await seed.entity(key, title=title, **columns)
    await seed.passage(3, key, title, **columns)


async def people_and_services(seed: Seed) -> None:
    for number, text in enumerate(NOTES):
        await seed.note(f"n{number}", text)
    for key, title in (
        ("person:tigran", "Тигран"),
        ("person:iran", "Иран"),
        ("service:kubernetes", "Kubernetes"),
        ("service:postgres", "PostgreSQL"),
        ("person:alexander", "Alexander Petrosyan"),
        ("person:pyotr", "Пётр Мартиросян"),
    ):
        await named(seed, key, title)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Тигрна", "Тигран"),
        ("тигрн", "Тигран"),
        ("что делал Тигрна", "Тигран"),
        ("Kubrenetes", "Kubernetes"),
        ("kuberentes", "Kubernetes"),
        ("тибран", "Тигран"),
        ("postgersql", "PostgreSQL"),
        ("Aleksander", "Alexander Petrosyan"),
        ("мартиросан", "Пётр Мартиросян"),
    ],
)
async def test_a_misspelt_name_is_found_first(seed: Seed, reader: ReaderServiceStub, query: str, expected: str) -> None:
    """RE-1: by words alone; and TRIGRAM says how alike it is."""
    await people_and_services(seed)

    response = await search(reader, query, mode=LEXICAL)

    assert texts(response)[0] == expected
    [score] = [each for each in response.hits[0].signals if each.signal == retrieval.SIGNAL_TRIGRAM]
    assert 0.7 < score.raw < 1
    assert score.rank == 1


async def test_a_misspelt_name_is_found_first_among_vectors(
    seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors
) -> None:
    """RE-1: with all signals, though other texts may be nearer."""
    await people_and_services(seed)
    await embed_all(seed, bundled)

    assert texts(await search(hybrid, "Тигрна", keep_irrelevant=True))[0] == "Тигран"


async def test_names_in_facts_are_found_too(seed: Seed, reader: ReaderServiceStub) -> None:
    await people_and_services(seed)
    observation = await seed.observation("1")
    await seed.entity("team:red")
    await seed.fact("person:Тигран", "WORKS_IN", "team:red", [observation])

    assert any("works in" in text for text in texts(await search(reader, "Тигрна", mode=LEXICAL)))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("77123", "Закрыли INV-77123 вчера вечером"),
        ("7712", "Закрыли INV-77123 вчера вечером"),
        ("9de434c", "fix of the parser"),
        ("prod-07", "Restarted k8s-prod-07 after the upgrade"),
        ("service_mesh", "The service-mesh was configured"),
        ("service-mesh", "The service-mesh was configured"),
    ],
)
async def test_a_part_of_an_identifier_finds_it(
    seed: Seed, reader: ReaderServiceStub, query: str, expected: str
) -> None:
    """RE-1: in texts, in names and in keys; `-` and `_` alike."""
    await people_and_services(seed)
    await seed.note("i1", "Закрыли INV-77123 вчера вечером")
    await seed.note("i2", "Restarted k8s-prod-07 after the upgrade")
    await seed.note("i3", "The service-mesh was configured")
    await named(seed, "commit:9de434c1bb35", "fix of the parser")

    assert texts(await search(reader, query, mode=LEXICAL, keep_irrelevant=True))[0] == expected


async def test_the_word_itself_goes_before_what_is_alike(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-1: likeness never pushes down what holds the words."""
    await people_and_services(seed)
    await named(seed, "person:tigrana", "Тиграна")
    await seed.note("exact", "Отчёт 77123 готов")
    await seed.note("longer", "Закрыли INV-77123 вчера")

    name = await search(reader, "Тигран", mode=LEXICAL, keep_irrelevant=True)
    number = await search(reader, "77123", mode=LEXICAL, keep_irrelevant=True)

    assert not any(each.signal == retrieval.SIGNAL_TRIGRAM for hit in name.hits for each in hit.signals)
    assert texts(number) == ["Отчёт 77123 готов", "Закрыли INV-77123 вчера"]


@pytest.mark.parametrize("query", ["zxqvb blorpt", "how to boil pasta", "77999", "Иранец", "%____%", "x_1%", "a\\b_9"])
async def test_what_is_not_alike_is_not_found(seed: Seed, reader: ReaderServiceStub, query: str) -> None:
    """RE-4, fault 18; fault 4: neither by chance likeness nor by characters that mean something to LIKE."""
    await people_and_services(seed)
    await named(seed, "dish:past", "past")
    await named(seed, "device:boiler", "boiler")
    await seed.note("i1", "Закрыли INV-77123 вчера вечером")

    assert texts(await search(reader, query, mode=LEXICAL)) == []


async def test_one_chance_likeness_of_two_words_is_not_enough(seed: Seed, reader: ReaderServiceStub) -> None:
    """RE-4: `paste` for `pasta`, and nothing to boil."""
    await people_and_services(seed)
    await named(seed, "tool:paste", "paste")

    response = await search(reader, "boil pasta", mode=LEXICAL)

    assert response.abstention == retrieval.ABSTENTION_BELOW_THRESHOLD


async def test_hidden_names_are_not_found(seed: Seed, dsn: str, reader: ReaderServiceStub) -> None:
    """AC-4: filters act on likeness as on words."""
    await people_and_services(seed)
    await seed.connection.execute("UPDATE passages SET hidden = true WHERE owner_key = 'person:tigran'")

    hidden = await search(reader, "Тигрна", mode=LEXICAL, keep_irrelevant=True)
    of_services = retrieval.SearchFilter(entity_kinds=["service"])
    filtered = await search(reader, "Aleksander", mode=LEXICAL, keep_irrelevant=True, filter=of_services)

    assert texts(hidden) == []
    assert texts(filtered) == []


async def test_the_index_of_names_is_used(seed: Seed, database: Database) -> None:
    """RE-1, RE-2: at 20,000 passages the plan asks the index, and no row that it does not give."""
    await seed.connection.execute(
        """
        INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at)
        SELECT $1, 3, 'thing:' || n, md5(n::text), 1, n::text, now() FROM generate_series(1, 20000) AS n
        """,
        seed.namespace,
    )
    await named(seed, "person:tigran", "Тигран")
    await seed.connection.execute("ANALYZE passages")
    statement = names_statement(Filter())
    arguments = ("Тигрна 77123", None, *search_arguments(Filter(), [], 20_000, 100, None), ["тигрна"])

    async def explained(connection: Any) -> str:
        for name, value in SETTINGS.items():
            await connection.execute("SELECT set_config($1, $2, true)", name, value)
        rows = await connection.fetch("EXPLAIN " + statement, NAMESPACE, [], True, *arguments)
        return "\n".join(row[0] for row in rows)

    plan = await database.transaction(explained)

    assert plan.count("Bitmap Index Scan on passages_by_names") == 2
    assert "Seq Scan on passages" not in plan
