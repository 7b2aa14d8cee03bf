"""Runs the reader: `python -m services.reader`."""

import uvloop

from services.reader.service import build_service
from services.reader.settings import ReaderSettings
from shared.server import serve
from shared.settings import ServerSettings, TelemetrySettings
from shared.telemetry import telemetry


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    with telemetry(TelemetrySettings(), service="reader"):
        uvloop.run(serve(build_service(ReaderSettings()), ServerSettings()))


if __name__ == "__main__":
    main()
