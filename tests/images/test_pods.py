"""OP-4, OP-1: the images as pods: migrated, serving, written to and searched, and drained."""

import re
import time
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager

import asyncpg
import pytest
from palimpsest.v1.embedder_service_pb2 import INPUT_TYPE_PASSAGE, EmbedRequest
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.retrieval_pb2 import SIGNAL_VECTOR

from images.build import SERVICES
from tests.images.pods import GRACE_S, NAMES, Pod, System, finished

# Some seconds of one processor.
TEXTS = [f"{number}: " + "The gateway renews its certificate each month. " * 8 for number in range(200)]

STATE = """
status = dict(line.split(":", 1) for line in open("/proc/1/status"))
print(status["Uid"].split(), int(status["CapEff"], 16), int(status["CapBnd"], 16), int(status["NoNewPrivs"]))
"""
WRITES = """
import os
for folder in ("/", "/opt/palimpsest", "/opt/palimpsest/models", "/var/tmp", "/run", "/etc/palimpsest", "/tmp"):
    try:
        open(os.path.join(folder, "written"), "w").close()
        print(folder)
    except OSError:
        pass
"""


def note(number: int, content: str) -> Observation:
    observation = Observation(kind="note", content=content)
    observation.source.system, observation.source.external_id = "test", str(number)
    observation.occurred_at.GetCurrentTime()
    return observation


def test_health(system: System) -> None:
    """OP-1, OP-4: each name that a probe asks for is SERVING in each pod."""
    for service, pod in system.pods.items():
        assert {name: pod.health(name) for name in NAMES} == dict.fromkeys(NAMES, "SERVING"), service


def test_migration_is_run_by_the_writer_s_image(system: System) -> None:
    """OP-4: `palimpsest init-db` of the same image makes the schema, and does nothing the next time."""
    assert system.migration.startswith("Applied: ")
    again = finished("writer", system.settings.environment, "palimpsest", "init-db")
    assert (again.returncode, again.stdout) == (0, "Nothing to do: the schema is of this version.\n"), again.stderr


def test_what_is_written_is_found(system: System) -> None:
    """OP-4: through all three: stored by the writer, made a vector by the embedder, found by the reader by meaning."""
    with system.client() as client:
        client.record("demo", note(1, "Отчёты по Альфе выпускаем по средам."), wait_for_embedding=True)
        client.record("demo", note(2, "The gateway renews its certificate each month."), wait_for_embedding=True)
        found = client.search("demo", "when are certificates renewed?")
    assert "gateway" in found.hits[0].chunk.text
    assert any(score.signal == SIGNAL_VECTOR for score in found.hits[0].signals)
    assert not found.degraded


@pytest.mark.parametrize("service", SERVICES)
def test_confinement(system: System, service: str) -> None:
    """OP-4: the service runs as 65532 without any capability, can gain none, and writes in /tmp alone."""
    pod = system.pods[service]
    assert pod.python(STATE) == "['65532', '65532', '65532', '65532'] 0 0 1"
    assert pod.python(WRITES) == "/tmp"


def test_embedder_builds_no_model(system: System) -> None:
    """OP-4: the model is in the image; the log would tell of one that was built."""
    logs = system.pods["embedder"].logs()
    assert "the model is loaded" in logs
    assert "building the bundled" not in logs


@pytest.mark.parametrize("service", SERVICES)
def test_without_authentication_it_refuses_to_be_open(system: System, service: str) -> None:
    """AC-1, OP-4: the images listen to everybody, and therefore not without authentication."""
    environment = {
        name: value
        for name, value in system.settings.environment.items()
        if name != "PALIMPSEST_HOST" and "AUTH" not in name
    }
    done = finished(service, environment)
    assert done.returncode != 0
    assert "authentication mode none listens on loopback only" in done.stderr


async def test_drain(drained: System) -> None:
    """OP-1, OP-4: SIGTERM reaches each service; a call under way is answered, and then it ends with 0."""
    dsn, pods = drained.settings.owner_dsn, drained.pods
    with drained.client() as client, ThreadPoolExecutor() as threads:
        client.record("demo", note(1, "Before the stop."), wait_for_embedding=True)
        async with locked(dsn, "passages") as waiting:
            search = threads.submit(client.search, "demo", "stop")
            await waiting()
            stop(pods["reader"], search)
        assert search.result(60).hits
        assert pods["reader"].exit_code() == 0, pods["reader"].logs()

        async with locked(dsn, "observations") as waiting:
            record = threads.submit(client.record, "demo", note(2, "During the stop."))
            await waiting()
            stop(pods["writer"], record)
        assert not record.result(60).duplicate
        assert pods["writer"].exit_code() == 0, pods["writer"].logs()

        request = EmbedRequest(texts=TEXTS, input_type=INPUT_TYPE_PASSAGE)
        embed = threads.submit(client.embedder.Embed, request, timeout=GRACE_S)
        until_queued(drained.settings.metrics_ports["embedder"])
        stop(pods["embedder"], embed)
        results = embed.result(GRACE_S).results
        assert [result.WhichOneof("result") for result in results] == ["vector"] * len(TEXTS)
        assert pods["embedder"].exit_code() == 0, pods["embedder"].logs()


@pytest.mark.parametrize("service", SERVICES)
def test_a_limit_of_memory_is_a_limit(service: str) -> None:
    """OP-4: the limit that these tests run under is in force, so that what they show holds for a pod that has it."""
    grow = "b'1' * (1 << 30)"
    assert finished(service, {}, "python", "-c", grow, memory="64m").returncode == 137


def stop(pod: Pod, call: Future) -> None:
    """Sends SIGTERM, and waits until the service has heard it; the call is still under way then."""
    pod.terminate()
    until = time.monotonic() + 30
    while pod.health("readiness") == "SERVING":
        assert time.monotonic() < until, pod.logs()
        time.sleep(0.05)
    assert not call.done(), "the call was over before the stop: nothing was drained"


def until_queued(port: int) -> None:
    """Waits until texts wait for the embedder's model."""
    until = time.monotonic() + 60
    queued = 0.0
    while not queued:
        assert time.monotonic() < until
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            (line,) = re.findall(r"(?m)^palimpsest_embedder_queued_tokens (\S+)", answer.read().decode())
        queued = float(line)


@asynccontextmanager
async def locked(dsn: str, table: str):
    """Nobody reads or writes the table inside; yields what waits until somebody wants to."""
    connection = await asyncpg.connect(dsn)
    watcher = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")

            async def waiting() -> None:
                until = time.monotonic() + 60
                wanted = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass"
                while not await watcher.fetchval(wanted, table):
                    assert time.monotonic() < until, f"nobody wants {table}"

            yield waiting
    finally:
        await connection.close()
        await watcher.close()
