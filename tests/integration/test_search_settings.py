"""What a namespace's settings change in its searches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1 import retrieval_pb2 as retrieval
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from services.reader.retrieval.blend import Blend
from shared.tuning_names import RANGES
from tests.integration.reader_process import Vectors, embed_all
from tests.integration.reader_seed import NAMESPACE, Seed

pytest_plugins = ("tests.integration.reader_fixtures",)

LEXICAL = retrieval.SEARCH_MODE_LEXICAL


async def settle(seed: Seed, **settings: Any) -> None:
    await seed.connection.execute(
        """INSERT INTO namespace_settings (namespace, version, settings)
        SELECT $1, 1 + count(*), $2::json FROM namespace_settings WHERE namespace = $1""",
        NAMESPACE,
        json.dumps(settings),
    )


async def found(reader: ReaderServiceStub, query: str, **fields: Any) -> list[str]:
    request = pb.SearchRequest(namespace=NAMESPACE, query=query, keep_irrelevant=True, **fields)
    return [hit.chunk.text for hit in (await reader.Search(request)).hits]


@pytest.mark.parametrize(
    ("configurations", "stem", "form"),
    [(["simple"], False, True), (["russian"], True, True), (["english", "simple"], True, True), ([], True, True)],
)
async def test_words_are_looked_up_as_the_namespace_says(
    seed: Seed, reader: ReaderServiceStub, configurations: list[str], stem: bool, form: bool
) -> None:
    """NS-2, RE-1: by exact forms alone, or by stems as well."""
    await seed.note("1", "servers crashed")
    await settle(seed, text_search_configurations=configurations)

    assert bool(await found(reader, "crashing", mode=LEXICAL)) is stem
    assert bool(await found(reader, "crashed", mode=LEXICAL)) is form


async def test_fusion_weighs_as_the_namespace_says(seed: Seed, hybrid: ReaderServiceStub, bundled: Vectors) -> None:
    """RE-1, NS-2: constants of fusion are the namespace's own."""
    await seed.note("1", "the kitten sleeps on the sofa")
    await seed.note("2", "cat litter invoices, cat food invoices, cat insurance")
    await embed_all(seed, bundled)

    by_default = await found(hybrid, "a small cat takes a nap")
    await settle(seed, tuning={"fusion.vector_weight": 1.0})
    by_meaning = await found(hybrid, "a small cat takes a nap")
    await settle(seed, tuning={"fusion.vector_weight": 0.0})
    by_words = await found(hybrid, "a small cat takes a nap")

    assert by_meaning[0].startswith("the kitten")
    assert by_words[0].startswith("cat litter")
    assert sorted(by_default) == sorted(by_meaning) == sorted(by_words)


def test_every_constant_of_fusion_can_be_set() -> None:
    """RE-1: by the names that the writer knows, and no others."""
    names = {name.removeprefix("fusion.") for name in RANGES if name.startswith("fusion.")}
    assert names == set(Blend.__dataclass_fields__)
    for name in names:
        assert getattr(Blend.of({f"fusion.{name}": 0.123}), name) == 0.123
