"""A run: to each RPC so many requests, each RPC on a copy of a store that has met some of all."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf.descriptor import MethodDescriptor

from shared.embedded_postgres import EmbeddedPostgres, start
from shared.schema.migrate import migrate
from tests.conftest import UNSAFE_BUT_FAST, created, execute
from tests.fuzz.sending import METHODS, Fault, kept, running, send

_TEMPLATE = "template_met"
# Requests to each RPC, which the store has met.
_MET_BEFORE = 24
_MOST_FAULTS_TOLD = 20
_Done = TypeVar("_Done")


@dataclass(frozen=True)
class Told:
    """What is told of one RPC."""

    rpc: str
    requests: int
    seed: int
    codes: Mapping[str, int]
    fault_count: int
    kept: Mapping[str, Sequence[str]]
    """Tables with rows of what was refused."""
    faults: Sequence[Fault]
    wall_s: float
    processor_s: float
    """Of this process, which runs the services, and sends; not of Postgres."""
    revision: str

    @property
    def is_good(self) -> bool:
        """Whether there is nothing that must not be."""
        return not (self.fault_count or self.kept)

    def line(self) -> str:
        """As JSON."""
        faults = [
            {"code": each.code, "details": each.details, "sent": [base64.b64encode(one).decode() for one in each.sent]}
            for each in self.faults
        ]
        return json.dumps({**asdict(self), "faults": faults}, ensure_ascii=False, default=str)


def chosen(names: str) -> list[MethodDescriptor]:
    """The RPCs of these names, in the contract's order; all where none is given. Ends the process for another name."""
    asked = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := sorted(asked - {method.name for method in METHODS}):
        raise SystemExit(f"no RPC: {', '.join(unknown)}")
    return [method for method in METHODS if not asked or method.name in asked]


def left_to_do(
    methods: Sequence[MethodDescriptor], results: Path | None, requests: int, seed: int
) -> list[MethodDescriptor]:
    """Those of the RPCs of which a file does not tell yet that so many requests of the seed came out well."""
    done = set()
    for line in results.read_text().splitlines() if results and results.exists() else ():
        try:
            told = json.loads(line)
        except ValueError:
            # It broke off.
            continue
        is_good = not (told["fault_count"] or told["kept"])
        if is_good and told["seed"] == seed and told["requests"] >= requests:
            done.add(told["rpc"])
    return [method for method in methods if method.name not in done]


def fuzzed(methods: Sequence[MethodDescriptor], requests: int, seed: int) -> Iterator[Told]:
    """Sends to one RPC after the other."""
    if not methods:
        return
    revision = _revision()
    with _postgres() as postgres:
        asyncio.run(_until_stopped(_prepare(postgres, seed)))
        for method in methods:
            yield asyncio.run(_until_stopped(_sent(postgres, method, requests, seed, revision)))


async def _until_stopped(work: Coroutine[Any, Any, _Done]) -> _Done:
    """What is stopped stops its services and its database, too."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


@contextmanager
def _postgres() -> Iterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="palimpsest-fuzz-"))
    try:
        with start(folder, settings=UNSAFE_BUT_FAST) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _prepare(postgres: EmbeddedPostgres, seed: int) -> None:
    """Makes the store that each RPC meets."""
    dsn = postgres.dsn(_TEMPLATE)
    await execute(postgres.dsn(), f"CREATE DATABASE {_TEMPLATE}")
    await migrate(dsn, timeout_s=60)
    async with running(dsn) as system:
        for place, method in enumerate(METHODS):
            await send(system, method, _MET_BEFORE, seed * 1_000 + place, mark="met")


async def _sent(postgres: EmbeddedPostgres, method: MethodDescriptor, requests: int, seed: int, revision: str) -> Told:
    """Sends to one RPC."""
    began, processor = time.monotonic(), time.process_time()
    async with created(postgres, _TEMPLATE) as dsn, running(dsn, mark="second") as system:
        came = await send(system, method, requests, seed * 1_000 + METHODS.index(method))
        assert await system.is_up()
        left = await kept(dsn, came.refused)
    return Told(
        rpc=method.name,
        requests=came.codes.total(),
        seed=seed,
        codes=dict(came.codes.most_common()),
        fault_count=len(came.faults),
        kept={table: sorted(rpcs) for table, rpcs in left.items()},
        faults=came.faults[:_MOST_FAULTS_TOLD],
        wall_s=round(time.monotonic() - began, 1),
        processor_s=round(time.process_time() - processor, 1),
        revision=revision,
    )


def _revision() -> str:
    """Of the code, where git knows it."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    return done.stdout.strip()
