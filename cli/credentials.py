"""By what the services know the command line: from the environment, for a token among the arguments would be in the
shell's history and in the list of processes."""

import os
from typing import Any

from palimpsest.connection import Tls

TOKEN_VARIABLE = "PALIMPSEST_TOKEN"
TOKEN_FILE_VARIABLE = "PALIMPSEST_TOKEN_FILE"
_TLS = "PALIMPSEST_CLIENT_"

CREDENTIALS_HELP = (
    f"Credentials come from the environment: {TOKEN_VARIABLE} or {TOKEN_FILE_VARIABLE}; {_TLS}TLS=1 for TLS, "
    f"{_TLS}CA_FILE for a private authority, {_TLS}CERT_FILE and _KEY_FILE for a certificate of one's own, "
    f"{_TLS}SERVER_NAME for the name in that of the services, {_TLS}PLAINTEXT_TOKEN=1 for a mesh that encrypts."
)


def client_tls() -> Tls | None:
    """TLS as the environment says; None: plaintext."""
    files = {name: _variable(f"{name.upper()}") or None for name in ("ca_file", "cert_file", "key_file")}
    if not _is_set("TLS") and not any(files.values()):
        return None
    return Tls(**files, server_name=_variable("SERVER_NAME"))


def credentials() -> dict[str, Any]:
    """What the client of the command line is told of its credentials."""
    return {
        "token": os.environ.get(TOKEN_VARIABLE) or None,
        "token_file": os.environ.get(TOKEN_FILE_VARIABLE) or None,
        "tls": client_tls(),
        "plaintext_token": _is_set("PLAINTEXT_TOKEN"),
    }


def _variable(name: str) -> str:
    return os.environ.get(f"{_TLS}{name}", "")


def _is_set(name: str) -> bool:
    return _variable(name).lower() in ("1", "true", "yes")
