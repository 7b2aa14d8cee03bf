"""Runs the writer: `python -m services.writer`."""

import gc

import uvloop

from services.writer.service import build_service
from services.writer.settings import WriterSettings
from shared.server import serve
from shared.telemetry import telemetry

# Objects that live before Python looks for cycles among the new ones: a batch makes more than the default at once, and
# hardly any cycle.
_OBJECTS_A_GENERATION = 10_000


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_A_GENERATION)
    settings = WriterSettings()
    with telemetry(settings.telemetry, service="writer"):
        uvloop.run(serve(build_service(settings), settings.server))


if __name__ == "__main__":
    main()
