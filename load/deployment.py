"""The system under load: a deployment that runs already, or the embedded one on a fresh data folder."""

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from cli.data_folder import LOG_FILE

_MAX_MESSAGE_BYTES = 32 * 1024 * 1024
_START_TIMEOUT_S = 300
_STOP_TIMEOUT_S = 90
SERVICES = ("writer", "reader", "embedder")


@dataclass(frozen=True)
class Credentials:
    """How a deployment is spoken to."""

    ca: Path | None = None
    """PEM of the authority that signed the servers' certificates; None: plaintext."""
    certificate: Path | None = None
    key: Path | None = None
    """Of the client, where servers want one."""
    token: str = field(default="", repr=False)
    """Bearer token; empty: none is sent."""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What is sent along with each call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


@dataclass(frozen=True)
class Deployment:
    """Where the services are."""

    writer: str
    reader: str
    embedder: str
    metrics: tuple[str, ...] = ()
    """Addresses of the metrics of all processes; empty: calls cannot be held against what the servers counted."""
    credentials: Credentials = Credentials()
    pid: int | None = None
    """The process of the embedded system, which has the database as its child; None: another machine's."""

    def target(self, service: str) -> str:
        """`host:port` of a service, by its short name."""
        return {"writer": self.writer, "reader": self.reader, "embedder": self.embedder}[service]


@dataclass(frozen=True)
class Stubs:
    """The three services, as Python calls them."""

    writer: WriterServiceStub
    reader: ReaderServiceStub
    embedder: EmbedderServiceStub
    metadata: tuple[tuple[str, str], ...]


@contextlib.contextmanager
def connected(deployment: Deployment) -> Iterator[Stubs]:
    """Stubs over one connection a service."""
    with contextlib.ExitStack() as stack:
        writer, reader, embedder = (
            stack.enter_context(_channel(deployment.target(name), deployment.credentials)) for name in SERVICES
        )
        yield Stubs(
            WriterServiceStub(writer),
            ReaderServiceStub(reader),
            EmbedderServiceStub(embedder),
            deployment.credentials.metadata,
        )


@contextlib.contextmanager
def embedded(settings: Mapping[str, str], log: Path) -> Iterator[Deployment]:
    """Starts `palimpsest up` as a user does, on free ports and a fresh data folder, and ends it; with its metrics.

    `settings` are environment variables besides. What it logged is copied to `log` at the end. Raises SystemExit where
    it does not come up.
    """
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-load-"))
    folder.chmod(0o755)
    port = _free_port()
    environment = {name: value for name, value in os.environ.items() if name != "PALIMPSEST_DSN"}
    environment |= {"PALIMPSEST_METRICS_HOST": "127.0.0.1", "PALIMPSEST_METRICS_PORT": str(port), **settings}
    command = [sys.executable, "-m", "cli.main", "up", "--data", str(folder / "data"), "--port", "0"]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
    try:
        writer, reader, embedder = _endpoints(process, folder)
        yield Deployment(writer, reader, embedder, metrics=(f"http://127.0.0.1:{port}/metrics",), pid=process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_STOP_TIMEOUT_S)
        log.parent.mkdir(parents=True, exist_ok=True)
        if (folder / "data" / LOG_FILE).exists():
            shutil.copyfile(folder / "data" / LOG_FILE, log)
        shutil.rmtree(folder, ignore_errors=True)


def _channel(target: str, credentials: Credentials) -> grpc.Channel:
    options = [
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    ]
    if credentials.ca is None:
        return grpc.insecure_channel(target, options=options)
    secure = grpc.ssl_channel_credentials(
        credentials.ca.read_bytes(),
        credentials.key.read_bytes() if credentials.key else None,
        credentials.certificate.read_bytes() if credentials.certificate else None,
    )
    return grpc.secure_channel(target, secure, options=options)


def _endpoints(process: subprocess.Popen[bytes], folder: Path) -> list[str]:
    """The addresses, once all serve."""
    path = folder / "data" / "endpoints.json"
    give_up = time.monotonic() + _START_TIMEOUT_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > give_up:
            raise SystemExit("the embedded system did not start:\n" + (folder / "said").read_text())
        time.sleep(0.2)
    endpoints = json.loads(path.read_text())
    return [endpoints[name] for name in SERVICES]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
