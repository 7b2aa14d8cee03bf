"""A writer in a process of its own, for tests that kill it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def process(dsn: str, **settings: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The process, stopped afterwards if it still runs, and its address. Settings are environment variables."""
    environment = os.environ | {
        "PALIMPSEST_DSN": dsn,
        "PALIMPSEST_EMBEDDING_ENABLED": "false",
        "PALIMPSEST_CURATION_ENABLED": "false",
        "PALIMPSEST_HEALTH_POLL_S": "0.05",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **settings,
    }
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services.writer", env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert running.stderr is not None
        async for line in running.stderr:
            if (port := json.loads(line).get("port")) is not None:
                break
        yield running, f"127.0.0.1:{port}"
    finally:
        if running.returncode is None:
            running.terminate()
        await running.wait()
