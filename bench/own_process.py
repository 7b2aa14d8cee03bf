"""A service in a process of its own, beside a database that runs already."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from bench.system import _free_port

_READY_TIMEOUT_S = 300


@contextmanager
def own_process(service: str, dsn: str, **settings: str) -> Iterator[str]:
    """Runs `services.{service}` with environment variables `PALIMPSEST_…`; its target, once it listens."""
    target = f"127.0.0.1:{_free_port()}"
    environment = {"PALIMPSEST_DSN": dsn, "PALIMPSEST_PORT": target.rpartition(":")[2]}
    environment |= {f"PALIMPSEST_{name.upper()}": value for name, value in settings.items()}
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", f"services.{service}"]
        process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
        try:
            with grpc.insecure_channel(target) as channel:
                grpc.channel_ready_future(channel).result(timeout=_READY_TIMEOUT_S)
            yield target
        finally:
            process.terminate()
            process.wait(timeout=60)
