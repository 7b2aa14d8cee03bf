"""What can be wrong with the settings of the services, as they stand in the environment."""

from collections.abc import Iterator

from pydantic import ValidationError

from cli.doctor.finding import Finding
from shared.settings import DatabaseSettings, ServerSettings, is_loopback


def settings_findings(*, dsn: str, pod_grace_s: float | None) -> Iterator[Finding]:
    """What is wrong with the variables of the server and of its database."""
    try:
        DatabaseSettings(dsn=dsn)
    except ValidationError as error:
        yield from _refused(error)
    try:
        server = ServerSettings()
    except ValidationError as error:
        yield from _refused(error)
        return
    if server.auth_mode != "none" and not is_loopback(server.host) and server.tls_cert_file is None:
        yield Finding(
            "tls",
            f"tokens are asked for at {server.host}, without TLS",
            "Whoever listens in on the way has the token, and all that it opens.",
            "Set PALIMPSEST_TLS_CERT_FILE and PALIMPSEST_TLS_KEY_FILE, unless a mesh encrypts.",
        )
    needed_s = server.drain_s + server.grace_s
    if pod_grace_s is not None and needed_s >= pod_grace_s:
        yield Finding(
            "drain",
            f"a stop takes up to {needed_s:g} s (PALIMPSEST_DRAIN_S and _GRACE_S), and the pod is killed after "
            f"{pod_grace_s:g} s",
            "Calls under way are cut off at each rollout.",
            f"Set terminationGracePeriodSeconds to {needed_s + 10:g} or more, a preStop sleep included, or lower both.",
        )


def _refused(error: ValidationError) -> Iterator[Finding]:
    # Of the input nothing is told: it may be a secret.
    for each in error.errors(include_input=False, include_url=False, include_context=False):
        where = "PALIMPSEST_" + "_".join(str(part).upper() for part in each["loc"]) + ": " if each["loc"] else ""
        yield Finding(
            "settings",
            f"{where}{each['msg'].removeprefix('Value error, ')}",
            "No service starts with these settings.",
            "Mend the variable; docs/operations.md lists them all.",
        )
