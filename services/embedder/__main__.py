"""Runs the embedder: `python -m services.embedder`."""

import uvloop

from services.embedder.service import build_service
from services.embedder.settings import EmbedderSettings
from shared.server import serve
from shared.settings import ServerSettings, TelemetrySettings
from shared.telemetry import telemetry


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    server = ServerSettings()
    if server.processes > 1:
        raise SystemExit("the embedder runs in one process, which holds the one model; PALIMPSEST_PROCESSES must be 1")
    with telemetry(TelemetrySettings(), service="embedder"):
        uvloop.run(serve(build_service(EmbedderSettings()), server))


if __name__ == "__main__":
    main()
