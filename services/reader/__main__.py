"""Runs the reader: `python -m services.reader`."""

import gc

from services.reader.settings import ReaderSettings
from shared.processes import in_processes
from shared.settings import ServerSettings, TelemetrySettings

# Objects that live before Python looks for cycles among the new ones: an answer makes more than the default at once,
# and hardly any cycle.
_OBJECTS_A_GENERATION = 10_000


def main() -> None:
    """Serves until SIGTERM or SIGINT, in as many processes as the settings say."""
    settings, server, said = ReaderSettings(), ServerSettings(), TelemetrySettings()
    in_processes(lambda: _serve(settings, server, said), service="reader", server=server, telemetry=said)


def _serve(settings: ReaderSettings, server: ServerSettings, said: TelemetrySettings) -> None:
    # Here, for the parent of several processes needs none of it.
    import uvloop

    from services.reader.service import build_service
    from shared.server import serve
    from shared.telemetry import telemetry

    gc.freeze()
    gc.set_threshold(_OBJECTS_A_GENERATION)
    with telemetry(said, service="reader"):
        uvloop.run(serve(build_service(settings), server))


if __name__ == "__main__":
    main()
