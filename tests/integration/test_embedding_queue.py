"""Who is embedded first, what becomes of claims that are late, and what hours without an embedder cost (EM-3)."""

import asyncio
import socket
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from palimpsest.v1 import writer_service_pb2 as pb

from services.writer.commands.start_reembedding import start_reembedding
from services.writer.embedder_client import EmbedderClients
from services.writer.embedding.space_store import SpaceStore
from services.writer.embedding_loop import EmbeddingLoop, State
from services.writer.embedding_metrics import EmbeddingMetrics
from services.writer.passage_store import Space
from services.writer.settings import EmbeddingSettings
from shared.database import Database
from shared.errors import EmbedderUnavailable
from shared.telemetry import registry
from tests.integration.changing_models import PATIENT, WordModel, embedding, system
from tests.integration.writing import NAMESPACE, NOWHERE, Writer, article, document, observation, writing
from tests.ports import free_port

BATCH = 8


class Recorder:
    """An embedder that gives every text a vector, and remembers the batches; `before` runs before it answers."""

    served = Space("fp-" + "a" * 24, "m", "1", "", "", "mean", 4, True, "vectors_" + "a" * 24, "building")

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.fails = False
        self.before: Any = None

    async def served_spaces(self, timeout_s: float) -> list[Space]:
        return [self.served]

    async def embed(self, texts: list[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
        self.batches.append(list(texts))
        if self.before is not None:
            before, self.before = self.before, None
            await before()
        return ["cannot be read" if self.fails else np.ones(4, "<f2").tobytes() for _ in texts]


def looping(database: Database, embedder: Any, **settings: Any) -> EmbeddingLoop:
    return EmbeddingLoop(database, embedder, EmbeddingSettings(**(PATIENT | {"batch_passages": BATCH} | settings)))


async def bulk(writer: Writer, count: int, start: int = 0) -> None:
    """Writes that many texts in batches of ten."""
    for first in range(start, start + count, 10):
        await writer.record_all(
            *(observation(f"b{each}", document(f"bulk:{each}", f"bulk {each}")) for each in range(first, first + 10))
        )


async def single(writer: Writer, name: str) -> None:
    """Writes one text in a call of its own."""
    await writer.record(observation(name, document(f"single:{name}", f"single {name}")))


async def test_a_fresh_write_waits_for_no_bulk(writer: Writer, database: Database):
    """EM-3: whatever waits of batches, and goes on coming, what is written by itself is in the next that is embedded;
    and bulk is in each of them, whatever is written."""
    recorder = Recorder()
    loop = looping(database, recorder)
    await bulk(writer, 100)
    await single(writer, "1")
    await bulk(writer, 100, start=100)
    await loop.run_once()
    assert "single 1" in recorder.batches[0]
    for number in range(2, 40):
        await single(writer, str(number))
    await loop.run_once()
    assert sum(text.startswith("single") for text in recorder.batches[1]) == 6
    assert sum(text.startswith("bulk") for text in recorder.batches[1]) == 2


async def test_long_texts_and_vaults_are_bulk(writer: Writer, database: Database):
    """EM-3: so is what one call writes of many texts, and a vault, of which each call writes one."""
    recorder = Recorder()
    await writer.record(observation("1", document("doc:long", *(f"part {number}" for number in range(65)))))
    run = (await writer.stub.BeginVaultRun(pb.BeginVaultRunRequest(namespace=NAMESPACE, vault="notes"))).vault_run_id
    for number in range(20):
        text = article(f"doc:{number}", f"vault {number}").document
        request = pb.RetainArticleRequest(namespace=NAMESPACE, article=text, vault_run_id=run)
        await writer.stub.RetainArticle(request)
    rows = await writer.rows("SELECT DISTINCT is_bulk FROM embedding_queue")
    assert [row["is_bulk"] for row in rows] == [True]
    await single(writer, "2")
    await looping(database, recorder).run_once()
    assert "single 2" in recorder.batches[0]


async def test_what_was_just_written_comes_before_what_waited_for_hours(writer: Writer, database: Database):
    """EM-3: after an outage, of single writes too; and what has waited longest is in each batch."""
    recorder = Recorder()
    for number in range(60):
        await single(writer, f"old {number}")
    await single(writer, "new")
    await looping(database, recorder).run_once()
    assert "single new" in recorder.batches[0]
    assert "single old 0" in recorder.batches[0]


@pytest.mark.parametrize("fails", [False, True])
async def test_who_is_late_ends_no_claim_of_another(writer: Writer, database: Database, fails: bool):
    """EM-3: a writer that was paused beyond its lease finds that another claimed the text, whatever that came to, and
    whether it has a vector itself or a failure: it stores nothing, ends nothing, and says so."""
    late, quick = Recorder(), Recorder()
    late.fails, quick.fails = not fails, fails
    await single(writer, "1")

    async def overtaken() -> None:
        await writer.rows("UPDATE embedding_queue SET leased_until = '-infinity'")
        # What fails is tried again after a while.
        assert (await looping(database, quick, first_backoff_s=100, longest_backoff_s=100).run_once()).claimed == 1

    late.before = overtaken
    done = await looping(database, late).run_once()
    assert (done.claimed, done.embedded, done.failed, done.lost) == (1, 0, 0, 1)
    vectors = await writer.rows(f"SELECT FROM {Recorder.served.table_name}")
    backlog = await writer.rows("SELECT attempts, poisoned FROM embedding_backlog")
    assert len(vectors) == (0 if fails else 1)
    assert backlog == ([{"attempts": 1, "poisoned": False}] if fails else [])


async def test_who_is_late_leaves_a_claim_that_goes_on(writer: Writer, database: Database):
    """EM-3: the text is claimed by another, who has not ended yet."""
    late = Recorder()
    await single(writer, "1")

    async def claimed_anew() -> None:
        await writer.rows("UPDATE embedding_queue SET leased_until = clock_timestamp() + interval '1 hour'")

    late.before = claimed_anew
    assert (await looping(database, late).run_once()).lost == 1
    assert await writer.rows("SELECT leased_until > now() AS held FROM embedding_queue") == [{"held": True}]
    assert await writer.rows(f"SELECT FROM {Recorder.served.table_name}") == []


async def test_embedding_ends_before_its_lease(writer: Writer, database: Database):
    """EM-3: what takes longer is given up, and not counted against the text."""
    recorder = Recorder()
    recorder.before = asyncio.Event().wait
    await single(writer, "1")
    done = await looping(database, recorder, lease_s=0.2, call_timeout_s=0.1).run_once()
    assert done.state is State.EMBEDDER_UNAVAILABLE
    assert (await looping(database, recorder).run_once()).embedded == 1


async def test_a_text_that_ends_the_embedder_is_by_itself_in_the_end(writer: Writer, database: Database):
    """EM-3, fault 22: where a call fails at the embedder, the next is of half as many texts: the others get their
    vectors, and the one at fault is not set aside, for it may be the embedder's."""

    class Fragile(Recorder):
        async def embed(self, texts: list[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
            if "single 3" in texts:
                raise EmbedderUnavailable
            return await super().embed(texts, fingerprint=fingerprint, timeout_s=timeout_s)

    for number in range(12):
        await single(writer, str(number))
    loop = looping(database, Fragile())
    for _ in range(40):
        await loop.run_once()
    rows = await writer.rows("SELECT p.text FROM embedding_queue JOIN passages AS p USING (namespace, passage_id)")
    assert [row["text"] for row in rows] == ["single 3"]
    assert await writer.rows("SELECT FROM embedding_backlog") == []


async def test_hours_without_an_embedder(dsn: str):
    """EM-3: what is written meanwhile is found by words, waits, and is told with its age; after that each text is
    embedded once, by whichever of several writers, in the words that it has by then."""
    model = WordModel("a")
    port = free_port()
    target = f"127.0.0.1:{port}"
    async with (
        system(dsn, target, batch_passages=4) as running,
        writing(dsn, target, embedding=PATIENT | {"batch_passages": 4}),
    ):
        writer = running.writer
        for number in range(40):
            await writer.record(observation(str(number), document(f"doc:{number}", f"text {number}"), minutes=number))
        await writer.record(observation("new", document("doc:7", "text 7 anew"), minutes=100))
        await writer.record(observation("less", document("doc:8", "text 9"), minutes=100))
        await writer.rows("UPDATE embedding_queue SET enqueued_at = enqueued_at - interval '6 hours'")
        status = await running.status()
        assert (status.queue_depth, status.mismatch, list(status.served_fingerprints)) == (40, False, [])
        assert status.oldest_age_s >= 6 * 3600
        assert (await running.search("text 9", mode=0)).hits[0].chunk.text == "text 9"
        async with embedding(model, port):
            await running.until_whole(model.id)
    wanted = {f"text {number}" for number in range(40)} - {"text 7", "text 8"} | {"text 7 anew"}
    assert sorted(model.passages) == sorted(wanted)


async def test_an_embedder_that_hangs_holds_up_no_other(dsn: str):
    """EM-3, EM-5: it is asked again, but not waited for."""
    model = WordModel("a")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = f"127.0.0.1:{silent.getsockname()[1]}"
        async with embedding(model) as target:
            clients = EmbedderClients(f"{hanging}, {target}")
            assert [space.fingerprint for space in await clients.served_spaces(3)] == [model.id]
            async with asyncio.timeout(30):
                assert [space.fingerprint for space in await clients.served_spaces(3600)] == [model.id]
            await clients.close()


async def test_a_space_whose_embedder_fails_holds_up_no_other(writer: Writer, database: Database):
    """EM-5: of two that are filled beside the active one, the second gets its vectors though the first never does."""
    spaces = [
        replace(Recorder.served, fingerprint=f"fp-{each * 24}", table_name=f"vectors_{each * 24}") for each in "abc"
    ]

    class Several(Recorder):
        broken = ""

        async def served_spaces(self, timeout_s: float) -> list[Space]:
            return spaces

        async def embed(self, texts: list[str], *, fingerprint: str, timeout_s: float) -> list[bytes | str]:
            if fingerprint == self.broken:
                raise EmbedderUnavailable
            return await super().embed(texts, fingerprint=fingerprint, timeout_s=timeout_s)

    several = Several()
    loop = looping(database, several)
    await loop.run_once()
    for space in spaces[1:]:
        await start_reembedding(database, several, fingerprint=space.fingerprint, timeout_s=30)
    await single(writer, "1")
    await loop.run_once()
    for space in spaces[1:]:
        several.broken = space.fingerprint
        await loop.run_others_once()
    assert [len(await writer.rows(f"SELECT FROM {space.table_name}")) for space in spaces] == [1, 1, 1]


async def test_outcomes_depth_and_age_are_measured(writer: Writer, database: Database):
    """OP-3, EM-3: per space, what is set aside apart."""
    recorder = Recorder()
    recorder.fails = True
    await single(writer, "1")
    await looping(database, recorder, most_attempts=1).run_once()
    await single(writer, "2")
    await writer.rows("UPDATE embedding_queue SET enqueued_at = enqueued_at - interval '1 hour'")
    measured = EmbeddingMetrics(database)
    await measured.run_once()
    labels = {"fingerprint": Recorder.served.fingerprint, "state": "active"}
    assert registry.get_sample_value("palimpsest_embedding_waiting", labels) == 1
    assert registry.get_sample_value("palimpsest_embedding_set_aside", labels) == 1
    assert (registry.get_sample_value("palimpsest_embedding_oldest_age_seconds", labels) or 0) >= 3600
    before = registry.get_sample_value("palimpsest_embedding_passages_total", {"outcome": "failed"}) or 0
    measured.count(await looping(database, recorder).run_once())
    assert registry.get_sample_value("palimpsest_embedding_passages_total", {"outcome": "failed"}) == before + 1


async def test_a_huge_text_and_blank_ones_among_many(embedding_writer: Writer):
    """EM-4, fault 22: spaces, an emoji and a huge text among 128, by the bundled model: each has a vector that is one,
    or none at all; words find what can be found; nothing fails with its neighbours. An empty text is refused alone."""
    writer = embedding_writer
    huge = "слово " * 2_900 + "иголка"
    empty, good = observation("2", document("doc:2", "")), observation("3", document("doc:3", "good"))
    refused, stored = await writer.record_all(empty, good)
    assert refused.error.violations[0].field == "observations[0].assertions[0].document.chunked.chunks[0].text"
    assert stored.WhichOneof("result") == "recorded"
    texts = ["   ", "\u200b", "🐘", huge, *(f"text {number}" for number in range(124))]
    await writer.record(observation("1", document("doc:1", *texts)), wait_for_embedding=True)
    response = await writer.stub.WaitForEmbedding(pb.WaitForEmbeddingRequest(namespace=NAMESPACE))
    assert response.poisoned == 0
    [space] = await writer.rows("SELECT table_name FROM embedding_spaces")
    norms = await writer.rows(f"SELECT l2_norm(embedding) AS norm FROM {space['table_name']}")
    assert len(norms) == 127
    assert all(abs(row["norm"] - 1) < 0.01 for row in norms)
    found = await writer.rows("SELECT ordinal FROM passages WHERE tsv @@ to_tsquery('simple', 'иголка')")
    assert [row["ordinal"] for row in found] == [3]


async def test_a_writer_that_only_waits_makes_no_space(database: Database):
    """EM-4: a store without a served model has no space, and the first one that is served makes it."""
    recorder = Recorder()
    nobody = EmbedderClients(NOWHERE)
    assert (await looping(database, nobody).run_once()).state is State.EMBEDDER_UNAVAILABLE
    await nobody.close()
    loops = [looping(database, recorder) for _ in range(4)]
    done = await asyncio.gather(*(loop.run_once() for loop in loops))
    assert {each.state for each in done} == {State.WORKED}
    async with database.connection(10) as connection:
        assert await SpaceStore(connection).count_vectors(Recorder.served.table_name) == 0
