"""Runs an image as its pod does: read-only, without capabilities, as 65532, with a limit of memory; on loopback."""

import asyncio
import json
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from palimpsest.client import Client

from cli.health import health_of
from images.build import SERVICES, image_name
from images.confinement import confinement
from images.tools import command
from shared.embedded_postgres import EmbeddedPostgres
from tests.conftest import execute
from tests.ports import free_ports
from tests.unit.granting import entry, grants_file

TOKEN, SERVICES_TOKEN = "caller-of-the-test", "writer-and-reader"
PERMISSIONS = ["read", "write", "admin"]
NAMES = ("startup", "readiness", "liveness")
# As in k8s/base.
MEMORY = {"writer": "1g", "reader": "1g", "embedder": "2g"}
START_S = 240
# What a call under way gets at a stop: long, as the machine may be busy with other things.
GRACE_S = 240
STOP_S = GRACE_S + 30


@dataclass(frozen=True)
class Settings:
    """What pods are given."""

    environment: Mapping[str, str]
    mounts: Mapping[Path, str]
    ports: Mapping[str, int]
    metrics_ports: Mapping[str, int]
    owner_dsn: str
    """The same database, for the test itself."""

    @classmethod
    def made(cls, postgres: EmbeddedPostgres, folder: Path) -> "Settings":
        """A fresh database, free ports, and the files that Kubernetes would mount from secrets."""
        name = f"test_{uuid.uuid4().hex}"
        asyncio.run(execute(postgres.dsn(), f"CREATE DATABASE {name}"))
        grants = grants_file(
            folder,
            entry("test", TOKEN, grants=[{"namespaces": ["*"], "permissions": PERMISSIONS}]),
            entry("services", SERVICES_TOKEN, grants=[{"namespaces": ["*"], "permissions": ["read"]}]),
        )
        token = folder / "token"
        token.write_text(SERVICES_TOKEN)
        ports = free_ports(2 * len(SERVICES))
        grpc_ports, metrics_ports = (dict(zip(SERVICES, some, strict=True)) for some in (ports[:3], ports[3:]))
        dsn = urlsplit(postgres.dsn(name))
        embedder = f"127.0.0.1:{grpc_ports['embedder']}"
        environment = {
            # Who connects is told apart from where, as secrets tell it.
            "PALIMPSEST_DSN": f"postgresql://{dsn.hostname}:{dsn.port}/{name}",
            "PGUSER": dsn.username or "",
            "PGPASSWORD": dsn.password or "",
            "PALIMPSEST_HOST": "127.0.0.1",
            "PALIMPSEST_METRICS_HOST": "127.0.0.1",
            "PALIMPSEST_AUTH_MODE": "static",
            "PALIMPSEST_AUTH_GRANTS_FILE": "/etc/palimpsest/grants/grants.json",
            "PALIMPSEST_EMBEDDER_ACCESS_TOKEN_FILE": "/etc/palimpsest/embedder-token/token",
            "PALIMPSEST_EMBEDDING_TARGET": embedder,
            "PALIMPSEST_READER_EMBEDDER_TARGET": embedder,
            # The machine may be busy with other things; what is late here is no fault of the image.
            "PALIMPSEST_READER_EMBED_TIMEOUT_S": "30",
            "PALIMPSEST_HEALTH_POLL_S": "0.2",
            "PALIMPSEST_EMBEDDER_THREADS": "1",
            "PALIMPSEST_DRAIN_S": "1",
            "PALIMPSEST_GRACE_S": str(GRACE_S),
        }
        mounts = {grants: "/etc/palimpsest/grants/grants.json", token: "/etc/palimpsest/embedder-token/token"}
        for file in mounts:
            file.chmod(0o644)
        return cls(environment, mounts, grpc_ports, metrics_ports, postgres.dsn(name))

    def of(self, service: str) -> dict[str, str]:
        """The environment of a service's pod."""
        ports = {
            "PALIMPSEST_PORT": str(self.ports[service]),
            "PALIMPSEST_METRICS_PORT": str(self.metrics_ports[service]),
        }
        return {**self.environment, **ports}


@dataclass(frozen=True)
class Pod:
    """A container under way."""

    name: str
    address: str = ""

    def run(self, *arguments: str) -> str:
        """What a program in it prints. Raises CalledProcessError."""
        return _podman("exec", self.name, *arguments)

    def python(self, code: str) -> str:
        """What a piece of Python in it prints."""
        return self.run("python", "-c", code)

    def health(self, name: str) -> str:
        """The state of a name of the health protocol."""
        return health_of(self.address, 5, name)

    def logs(self) -> str:
        """All that it has written."""
        done = subprocess.run(
            command("podman", "logs", self.name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.stdout

    def is_running(self) -> bool:
        """Whether its program has not ended."""
        return _podman("inspect", "--format", "{{.State.Running}}", self.name) == "true"

    def terminate(self) -> None:
        """What Kubernetes does to a pod that is to go; returns at once."""
        _podman("kill", "--signal", "TERM", self.name)

    def exit_code(self) -> int:
        """Waits for the end."""
        done = subprocess.run(
            command("podman", "wait", self.name), stdout=subprocess.PIPE, text=True, timeout=STOP_S, check=True
        )
        return int(done.stdout)


@dataclass(frozen=True)
class System:
    """The three pods."""

    settings: Settings
    pods: dict[str, Pod] = field(default_factory=dict)
    migration: str = ""
    """What the migration printed."""

    def client(self) -> Client:
        """A client that may do everything."""
        return Client(**{name: pod.address for name, pod in self.pods.items()}, token=TOKEN, deadline_s=60)


@contextmanager
def running_system(settings: Settings) -> Iterator[System]:
    """Makes the schema, then runs all three until they serve; removed afterwards."""
    migration = finished("writer", settings.environment, "palimpsest", "init-db")
    assert migration.returncode == 0, migration.stderr
    with ExitStack() as opened:
        system = System(settings, migration=migration.stdout)
        for service in ("embedder", "writer", "reader"):
            pod = opened.enter_context(running(service, settings))
            system.pods[service] = pod
        for pod in system.pods.values():
            until_serving(pod)
        yield system


@contextmanager
def running(service: str, settings: Settings) -> Iterator[Pod]:
    """A service's pod, started; removed afterwards, whatever it does."""
    pod = Pod(f"palimpsest-{service}-{uuid.uuid4().hex[:8]}", f"127.0.0.1:{settings.ports[service]}")
    _podman(
        "run", "--detach", "--log-driver", "k8s-file", "--name", pod.name,
        *pod_options(service, settings.of(service), settings.mounts), image_name(service),
    )  # fmt: skip
    try:
        yield pod
    finally:
        _podman("rm", "--force", "--time", "0", pod.name)


def finished(
    service: str, environment: Mapping[str, str], *arguments: str, memory: str = ""
) -> subprocess.CompletedProcess[str]:
    """A pod that runs to its end. The first argument is a program to run instead of the service, where there is one."""
    program, rest = arguments[:1], arguments[1:]
    entry_point = ["--entrypoint", json.dumps(program)] if program else []
    options = pod_options(service, environment, {}, memory=memory)
    # What watches a container that runs out of memory leaves a file where it was started.
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            command("podman", "run", "--rm", *options, *entry_point, image_name(service), *rest),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=START_S,
        )


def pod_options(
    service: str, environment: Mapping[str, str], mounts: Mapping[Path, str], *, memory: str = ""
) -> list[str]:
    """How Kubernetes runs a service, in the words of podman."""
    return [
        *confinement(memory or MEMORY[service]),
        *(f"--env={name}={value}" for name, value in environment.items()),
        *(f"--volume={source}:{target}:ro" for source, target in mounts.items()),
    ]


def until_serving(pod: Pod) -> None:
    """Waits until every name of its health is SERVING; fails as soon as the pod has ended."""
    until = time.monotonic() + START_S
    while any(pod.health(name) != "SERVING" for name in NAMES):
        assert pod.is_running(), pod.logs()
        assert time.monotonic() < until, pod.logs()
        time.sleep(0.2)


def _podman(*arguments: str) -> str:
    done = subprocess.run(command("podman", *arguments), capture_output=True, text=True)
    assert done.returncode == 0, f"podman {arguments[0]}: {done.stderr}"
    return done.stdout.strip()
