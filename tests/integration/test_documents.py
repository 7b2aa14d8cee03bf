"""RetainArticle and RetainDocument: texts as they were sent, with their provenance, once (DO-1, DO-2, DO-4)."""

import asyncio

import pytest
from palimpsest.v1.document_pb2 import CONTENT_SOURCE_CHUNKS, CONTENT_SOURCE_ORIGINAL
from palimpsest.v1.reference_pb2 import ORIGIN_AGENT, Provenance

from tests.integration.retaining import Memory, article, chunked, identity, link_to, remembering, waiting_link
from tests.integration.serving import failure, fields, reason
from tests.integration.writing import at, state

TEXT = "# Выпуск\r\n\r\nСерверы упали.  \n\n## Причина\n\nКончилось место — zero\u200bwidth.\n"
PROVENANCE = Provenance(
    uri="https://git.example/r/blob/abc/notes/a.md",
    repository="r",
    branch="main",
    commit_sha="abc",
    path="notes/a.md",
    content_hash="sha256:1",
    author="Alice <a@b.c>",
    committed_at=at(-60),
    indexed_at=at(5),
    extracted_by="importer 1",
    derived_from=["obs-1"],
    extra={"k": "v"},
)


@pytest.fixture
async def memory(dsn: str):
    async with remembering(dsn) as made:
        yield made


async def test_an_article_comes_back_byte_for_byte(memory: Memory):
    """DO-1: the original is kept whole, and its provenance too."""
    answer = await memory.retain("doc:a", TEXT, article_title="Выпуск", provenance=PROVENANCE, scopes=["project:x"])
    assert not answer.observation.duplicate
    assert answer.consistency_token
    source = await memory.source("doc:a")
    assert source.text == TEXT
    assert source.content_source == CONTENT_SOURCE_ORIGINAL
    assert source.provenance == PROVENANCE
    assert source.entity.title == "Выпуск"
    assert source.entity.origin == ORIGIN_AGENT
    assert list(source.entity.scopes) == ["project:x"]
    rows = await memory.writer.rows("SELECT text FROM passages WHERE owner_key = 'doc:a' AND kind = 1 ORDER BY ordinal")
    assert len(rows) == answer.chunk_count == 2
    assert "".join(row["text"] for row in rows) == TEXT


async def test_a_document_comes_back_from_its_chunks(memory: Memory):
    """DO-1: a text that was sent in chunks is rebuilt from them, in order."""
    answer = await memory.writer.stub.RetainDocument(chunked("doc:b", "one ", "two ", "three", provenance=PROVENANCE))
    assert answer.chunk_count == 3
    source = await memory.source("doc:b")
    assert (source.text, source.content_source) == ("one two three", CONTENT_SOURCE_CHUNKS)
    assert source.provenance == PROVENANCE


async def test_a_shorter_version_drops_the_rest(memory: Memory):
    """DO-2: a new version replaces the chunks of the old one, and the answer counts those that are there."""
    await memory.writer.stub.RetainDocument(chunked("doc:b", "one", "two", "three", source=identity("b", "1")))
    newer = chunked("doc:b", "one", source=identity("b", "2"))
    newer.occurred_at.CopyFrom(at(1))
    assert (await memory.writer.stub.RetainDocument(newer)).chunk_count == 1
    assert (await memory.source("doc:b")).text == "one"
    older = chunked("doc:b", "zero", "zero", source=identity("b", "0"))
    older.occurred_at.CopyFrom(at(-1))
    assert (await memory.writer.stub.RetainDocument(older)).chunk_count == 1
    assert (await memory.source("doc:b")).text == "one"


async def test_a_retry_changes_nothing(memory: Memory):
    """DO-1, OB-3: the same write again is a duplicate; other content under its identity is refused."""
    request = article("doc:a", TEXT, source=identity("a"))
    first = await memory.writer.stub.RetainArticle(request)
    before = await state(memory.writer.dsn)
    again = await memory.writer.stub.RetainArticle(request)
    assert again.observation.duplicate
    assert again.observation.observation_id == first.observation.observation_id
    assert again.chunk_count == first.chunk_count
    assert reason(await failure(memory.retain("doc:a", "other", source=identity("a")))) == "OBSERVATION_CONFLICT"
    assert await state(memory.writer.dsn) == before


async def test_a_retry_without_a_moment_is_recognised_by_its_source(memory: Memory):
    """DO-1, OB-3: `occurred_at` is now by default, and a retry of a named event is a duplicate all the same; without a
    `source` it is another write."""
    calls = [memory.retain("doc:a", TEXT, minutes=None, source=identity("a")) for _ in range(8)]
    answers = await asyncio.gather(*calls)
    assert [one.observation.duplicate for one in answers].count(False) == 1
    await memory.retain("doc:a", TEXT, minutes=None)
    await memory.retain("doc:a", TEXT, minutes=None)
    assert (await memory.writer.row("SELECT count(*) AS n FROM observations"))["n"] == 3
    assert (await memory.writer.row("SELECT count(*) AS n FROM documents"))["n"] == 1


async def test_links_of_an_article_wait_for_their_targets(memory: Memory):
    """DO-1, DO-7: links to keys are there at once, links to references when their target arrives."""
    links = [link_to("doc:a", "project:x", "PART_OF"), waiting_link("doc:a", "b.md")]
    await memory.retain("doc:a", TEXT, links=links)
    assert await memory.neighbors("doc:a") == ["project:x"]
    run = await memory.begin()
    await memory.retain("doc:b", "b", article_source_path="b.md", vault_run_id=run)
    assert await memory.neighbors("doc:a") == ["doc:b", "project:x"]


async def test_the_body_has_to_fit_the_call(memory: Memory):
    """DO-1, SH-5: an article has a text, a document has chunks; a revision needs an external id."""
    cut = chunked("doc:a", "x").document
    wrong = article("doc:a", "x")
    wrong.article.CopyFrom(cut)
    assert fields(await failure(memory.writer.stub.RetainArticle(wrong))) == ["article.body"]
    whole = chunked("doc:a", "x")
    whole.document.CopyFrom(article("doc:a", "x").article)
    assert fields(await failure(memory.writer.stub.RetainDocument(whole))) == ["document.body"]
    unnamed = memory.retain("doc:a", "x", source=identity("", "1"))
    assert fields(await failure(unnamed)) == ["source.revision"]
