"""Runs the writer: `python -m services.writer`."""

import uvloop

from services.writer.service import build_service
from services.writer.settings import WriterSettings
from shared.server import serve
from shared.telemetry import telemetry


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    settings = WriterSettings()
    with telemetry(settings.telemetry, service="writer"):
        uvloop.run(serve(build_service(settings), settings.server))


if __name__ == "__main__":
    main()
