"""Runs the embedder: `python -m services.embedder`."""

import asyncio

from services.embedder.service import build_service
from services.embedder.settings import EmbedderSettings
from shared.server import serve
from shared.settings import ServerSettings, TelemetrySettings
from shared.telemetry import telemetry


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    with telemetry(TelemetrySettings(), service="embedder"):
        asyncio.run(serve(build_service(EmbedderSettings()), ServerSettings()))


if __name__ == "__main__":
    main()
