"""A peer's process as the one sees it that takes turns between peers, and what it uses while it has its turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench.peers import processes
from bench.peers.catalogue import Entry
from bench.peers.environments import Environment
from shared.embedded_postgres import EmbeddedPostgres, start

_ROOT = Path(__file__).resolve().parents[2]
# What hangs is ended, and has failed.
_TURN_LIMIT_S, _END_LIMIT_S = 1200, 60


class PeerFailed(Exception):
    """A peer did not do what it was told; the message is what it said."""


@dataclass(frozen=True)
class Memory:
    """Megabytes."""

    runner: float
    """The most that the peer's process has had, which is the caller too."""
    servers: float
    """The most that the processes it began have had."""
    postgres: float
    """What its Postgres has now."""


class Running:
    """A peer that runs."""

    def __init__(self, entry: Entry, process: subprocess.Popen[str], postgres: EmbeddedPostgres | None, folder: Path):
        self.entry = entry
        self.folder = folder
        self._process = process
        self._postgres = postgres

    @property
    def dsn(self) -> str:
        """Of its database; empty where it has none."""
        return self._postgres.dsn() if self._postgres else ""

    def do(self, what: str, /, **told: Any) -> dict[str, Any]:
        """What came of it, with the `processor_s` that it took. Raises PeerFailed."""
        before = self._processor_s()
        answer = self._asked({"do": what, **told})
        return answer | {"processor_s": self._processor_s() - before}

    def memory(self) -> Memory:
        """What it has in memory."""
        runner, *servers = processes.tree(self._process.pid)
        postgres = processes.tree(self._postmaster()) if self._postgres else []
        return Memory(
            round(processes.peak_mb(runner), 1),
            round(sum(map(processes.peak_mb, servers)), 1),
            round(sum(map(processes.own_mb, postgres)), 1),
        )

    def begin(self, told: dict[str, str]) -> None:
        """Tells it what it is and what it finds."""
        print(json.dumps(told), file=self._input, flush=True)

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        late = threading.Timer(_TURN_LIMIT_S, self._process.kill)
        late.start()
        try:
            print(json.dumps(request), file=self._input, flush=True)
            line = self._output.readline()
        except OSError as error:
            raise PeerFailed(self._told(str(error))) from None
        finally:
            late.cancel()
        if not line:
            raise PeerFailed(self._told("its process ended"))
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerFailed(self._told(answer["error"]))
        return answer

    def _told(self, what: str) -> str:
        lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        return f"{what}; {lines[-1][:300]}" if lines else what

    def _processor_s(self) -> float:
        roots = [self._process.pid] + ([self._postmaster()] if self._postgres else [])
        return sum(map(processes.processor_s, roots))

    def _postmaster(self) -> int:
        assert self._postgres is not None
        return int((self._postgres.data / "postmaster.pid").read_text().split("\n", 1)[0])

    @property
    def _input(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _output(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout


@contextmanager
def running(entry: Entry, environment: Environment, told: dict[str, str]) -> Iterator[Running]:
    """A peer's process, with a Postgres of its own where it needs one; `told` is where it finds vectors and texts."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="palimpsest-peer-")))
        folder.chmod(0o755)
        (folder / "own").mkdir()
        postgres = stack.enter_context(start(folder / "postgres")) if entry.postgres else None
        log = stack.enter_context((folder / "log").open("w"))
        process = subprocess.Popen(
            [str(environment.python), "-m", "bench.peers.runner"], cwd=folder / "own", stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True, stderr=log, text=True, env=_environ(),
        )  # fmt: skip
        stack.callback(_end, process)
        peer = Running(entry, process, postgres, folder)
        peer.begin({**told, "adapter": entry.adapter, "folder": str(folder / "own"), "dsn": peer.dsn})
        yield peer


def _environ() -> dict[str, str]:
    """Nothing is looked for on a hub, nothing told to anybody; what is run of ours is what is here."""
    here = os.pathsep.join((str(_ROOT), str(_ROOT / "protos")))
    return os.environ | {"PYTHONPATH": here, "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "OMP_NUM_THREADS": "1"}


def _end(process: subprocess.Popen[str]) -> None:
    """Its input ends, and it with that; then what it began and left."""
    # Leaving it closes its input, and waits.
    late = threading.Timer(_END_LIMIT_S, process.kill)
    late.start()
    with process:
        pass
    late.cancel()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
