"""The system under measurement: a deployment that runs already, or the embedded one on a fresh data folder."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
from palimpsest.v1 import embedder_service_pb2_grpc, reader_service_pb2_grpc, writer_service_pb2_grpc

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
START_TIMEOUT_S = 300


@dataclass(frozen=True)
class System:
    """Stubs of the three services."""

    writer: writer_service_pb2_grpc.WriterServiceStub
    reader: reader_service_pb2_grpc.ReaderServiceStub
    embedder: embedder_service_pb2_grpc.EmbedderServiceStub


@contextlib.contextmanager
def system(target: str | None) -> Iterator[System]:
    """Yields the system behind `target` (`HOST:PORT` or `WRITER,READER,EMBEDDER`), else a fresh embedded one."""
    if target:
        targets = target.split(",")
        with connected(targets * 3 if len(targets) == 1 else targets) as reached:
            yield reached
        return
    with _embedded() as targets, connected(targets) as reached:
        yield reached


@contextlib.contextmanager
def connected(targets: list[str]) -> Iterator[System]:
    """Stubs of the services at the targets: of the writer, the reader and the embedder."""
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ]
    with contextlib.ExitStack() as stack:
        writer, reader, embedder = (
            stack.enter_context(grpc.insecure_channel(target, options=options)) for target in targets[:3]
        )
        yield System(
            writer_service_pb2_grpc.WriterServiceStub(writer),
            reader_service_pb2_grpc.ReaderServiceStub(reader),
            embedder_service_pb2_grpc.EmbedderServiceStub(embedder),
        )


@contextlib.contextmanager
def _embedded() -> Iterator[list[str]]:
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-bench-"))
    folder.chmod(0o755)
    command = [sys.executable, "-m", "cli.main", "up", "--data", str(folder / "data"), "--port", str(_free_port())]
    environment = {name: value for name, value in os.environ.items() if name != "PALIMPSEST_DSN"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        yield _endpoints(process, folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def _endpoints(process: subprocess.Popen[bytes], folder: Path) -> list[str]:
    path = folder / "data" / "endpoints.json"
    give_up = time.monotonic() + START_TIMEOUT_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > give_up:
            raise SystemExit("the embedded system did not start:\n" + (folder / "log").read_text())
        time.sleep(0.2)
    endpoints = json.loads(path.read_text())
    return [endpoints[name] for name in ("writer", "reader", "embedder")]


def _free_port() -> int:
    """A port that is free with the two after it; `up` takes three in a row."""
    while True:
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            first = stack.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            for offset in (1, 2):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port + offset))
            return int(port)
