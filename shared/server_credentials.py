"""TLS of a server: its certificate, and whether clients must show one.

A client's certificate says which machine may connect, and no more: who calls is said by the token. So one proxy or mesh
in between does not turn all callers into one.
"""

import logging
from pathlib import Path
from typing import TypeAlias

import grpc

from shared.authentication.watched_file import WatchedFile
from shared.settings import ServerSettings

_log = logging.getLogger(__name__)

_Configuration: TypeAlias = grpc.ServerCertificateConfiguration


def server_credentials(settings: ServerSettings) -> grpc.ServerCredentials | None:
    """The credentials that the settings name; None: plaintext. Raises OSError where a file cannot be read.

    Certificates are renewed without a restart: new connections get what the files hold by then.
    """
    if settings.tls_cert_file is None or settings.tls_key_file is None:
        return None
    files = _Files(settings.tls_cert_file, settings.tls_key_file, settings.tls_client_ca_file)
    return grpc.dynamic_ssl_server_credentials(
        files.configuration(), files.changed, require_client_authentication=settings.tls_client_ca_file is not None
    )


class _Files:
    """The PEM files of a server."""

    def __init__(self, cert: Path, key: Path, client_ca: Path | None) -> None:
        self._cert = WatchedFile(cert, bytes, name="tls_cert")
        self._key = WatchedFile(key, bytes, name="tls_key")
        self._client_ca = WatchedFile(client_ca, bytes, name="tls_client_ca") if client_ca else None
        self._told = self._now()

    def configuration(self) -> _Configuration:
        """What the files hold now."""
        cert, key, client_ca = self._told
        return grpc.ssl_server_certificate_configuration([(key, cert)], root_certificates=client_ca)

    def changed(self) -> _Configuration | None:
        """The same, where it is not what it was; None where it is. Asked at each new connection."""
        now = self._now()
        if now == self._told:
            return None
        self._told = now
        _log.info("new connections get a new certificate")
        return self.configuration()

    def _now(self) -> tuple[bytes, bytes, bytes | None]:
        return self._cert.current(), self._key.current(), self._client_ca.current() if self._client_ca else None
