"""Runs the writer: `python -m services.writer`."""

import gc

from services.writer.settings import WriterSettings
from shared.processes import in_processes

# Objects that live before Python looks for cycles among the new ones: a batch makes more than the default at once, and
# hardly any cycle.
_OBJECTS_A_GENERATION = 10_000


def main() -> None:
    """Serves until SIGTERM or SIGINT, in as many processes as the settings say."""
    settings = WriterSettings()
    in_processes(lambda: _serve(settings), service="writer", server=settings.server, telemetry=settings.telemetry)


def _serve(settings: WriterSettings) -> None:
    # Here, for the parent of several processes needs none of it.
    import uvloop

    from services.writer.service import build_service
    from shared.server import serve
    from shared.telemetry import telemetry

    gc.freeze()
    gc.set_threshold(_OBJECTS_A_GENERATION)
    with telemetry(settings.telemetry, service="writer"):
        uvloop.run(serve(build_service(settings), settings.server))


if __name__ == "__main__":
    main()
