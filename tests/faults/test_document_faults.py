"""Faults that users of memory systems reported, about documents; the numbers are those of the list of faults."""

from palimpsest.v1.writer_service_pb2 import WaitForEmbeddingRequest

from tests.integration.conftest import embedder_target, embedding_writer  # noqa: F401 - fixtures
from tests.integration.retaining import article, identity
from tests.integration.writing import NAMESPACE, query, writing

PARTS = [f"# Part {number}\n\nParagraph number {number} of the handbook.\n\n" for number in range(4)]


async def test_new_labels_embed_nothing_and_a_new_paragraph_one_piece(embedding_writer, dsn):  # noqa: F811
    """Fault 3, DO-2, DO-4, AC-4: version 2 changes only labels, version 3 adds a paragraph: labels change everywhere,
    one new vector is made, and nothing is lost."""
    first = article("doc:a", "".join(PARTS[:3]), source=identity("a", "1"), scopes=["role:reader"])
    answer = await embedding_writer.stub.RetainArticle(first)
    assert answer.chunk_count == 3
    await _until_embedded(embedding_writer)
    [space] = await query(dsn, "SELECT table_name FROM embedding_spaces")
    vectors = f"SELECT passage_id, embedding::text, restricting FROM {space['table_name']} ORDER BY passage_id"
    before = await query(dsn, vectors)
    async with writing(dsn) as writer:  # has no embedder: what is queued stays
        second = article("doc:a", "".join(PARTS[:3]), minutes=1, source=identity("a", "2"), scopes=["role:editor"])
        assert (await writer.stub.RetainArticle(second)).chunk_count == 3
        after = await query(dsn, vectors)
        assert [(row["passage_id"], row["embedding"]) for row in after] == [
            (row["passage_id"], row["embedding"]) for row in before
        ]
        assert {tuple(row["restricting"]) for row in after} == {("role:editor",)}
        shown = await query(dsn, "SELECT restricting FROM passages UNION SELECT restricting FROM entities")
        assert [row["restricting"] for row in shown] == [["role:editor"]]
        # A row that is written again has another xmin: neither a queue that is drained at once nor a vector that comes
        # out the same can hide a second embedding.
        rows = f"SELECT passage_id, xmin::text FROM {space['table_name']}"
        kept = {(row["passage_id"], row["xmin"]) for row in await query(dsn, rows)}
        third = article("doc:a", "".join(PARTS), minutes=2, source=identity("a", "3"), scopes=["role:editor"])
        assert (await writer.stub.RetainArticle(third)).chunk_count == 4
        await _until_embedded(embedding_writer)
        found = {(row["passage_id"], row["xmin"]) for row in await query(dsn, rows)}
        assert kept < found
        assert len(found) == 4
        texts = await query(dsn, "SELECT text FROM passages ORDER BY ordinal")
        assert "".join(row["text"] for row in texts) == "".join(PARTS)


async def _until_embedded(writer) -> None:
    await writer.stub.WaitForEmbedding(WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)
