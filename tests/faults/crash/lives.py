"""Processes that are forked from one that has imported everything, so that a life costs little.

The process that forks makes no gRPC object, no thread and no event loop: each life makes its own, by the entry point
that `python -m services.<service>` has.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from tests.faults.crash.dying import Shot, arm

_PRELOADED = [
    "uvloop",
    "palimpsest.client",
    "services.writer.service",
    "services.writer.__main__",
    "services.reader.service",
    "services.reader.__main__",
    "services.embedder.service",
    "shared.server",
    "shared.telemetry",
    "cli.commands.ingest",
    "tests.integration.changing_models",
    "tests.faults.crash.clients",
    "tests.faults.crash.dying",
    "tests.faults.crash.lives",
]
# Of prctl and setns.
_SET_PARENT_DEATH_SIGNAL, _NETWORK = 1, 0x40000000

# Read when gRPC and numpy are imported, in the process that forks.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(_PRELOADED)
_starting = threading.Lock()


class Life:
    """A process, from its start to its death."""

    def __init__(
        self,
        work: Callable[..., None],
        *arguments: Any,
        log: Path,
        shot: Shot | None = None,
        settings: Mapping[str, str] | None = None,
        network: str | None = None,
    ) -> None:
        """Starts it, in a network namespace if one is named. `settings` are environment variables; what it prints is
        appended to `log`."""
        given = (work, arguments, dict(settings or {}), shot, str(log), network)
        self._process: ForkServerProcess = _context.Process(target=_live, args=given, daemon=True)
        with _starting:
            self._process.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it has ended, within the time."""
        self._process.join(timeout_s)
        return self._process.exitcode is not None

    def kill(self) -> bool:
        """Ends it by SIGKILL; False where it had ended by itself."""
        if self.wait(0):
            return False
        self._process.kill()
        self._process.join()
        return self.was_killed

    def stop(self) -> None:
        """Ends it as an operator does, and waits."""
        if not self.wait(0):
            self._process.terminate()
        if not self.wait(30):
            self._process.kill()
            self._process.join()

    @property
    def was_killed(self) -> bool:
        """Whether it died by SIGKILL."""
        return self._process.exitcode == -signal.SIGKILL

    @property
    def exit_status(self) -> int | None:
        """As `Process.exitcode`."""
        return self._process.exitcode


def _live(
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    settings: dict[str, str],
    shot: Shot | None,
    log: str,
    network: str | None,
) -> None:
    # Whatever ends the harness ends its processes.
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(settings)
    if network is not None:
        enter_network(network)
    if shot is not None:
        arm(shot)
    work(*arguments)


def enter_network(name: str) -> None:
    """Moves this thread, and all that it starts, into a network namespace. Raises OSError."""
    with Path("/run/netns", name).open("rb") as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def serve_writer() -> None:
    """As `python -m services.writer`."""
    from services.writer.__main__ import main

    main()


def serve_reader() -> None:
    """As `python -m services.reader`."""
    from services.reader.__main__ import main

    main()


def serve_embedder(model: str) -> None:
    """As `python -m services.embedder`, with a small model in the place of weights."""
    import asyncio

    from services.embedder.service import build_service
    from services.embedder.settings import EmbedderSettings
    from shared.server import serve
    from shared.settings import ServerSettings, TelemetrySettings
    from shared.telemetry import telemetry
    from tests.integration.changing_models import WordModel

    with telemetry(TelemetrySettings(), service="embedder"):
        service = build_service(EmbedderSettings(), load=lambda settings: WordModel(model))
        asyncio.run(serve(service, ServerSettings()))
