"""The seam between a call's metadata and its caller; each mode of authentication is one module beside this one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from shared.authentication.caller import Caller
from shared.authentication.grants import Grants
from shared.authentication.local import LocalAuthenticator
from shared.authentication.static import StaticAuthenticator
from shared.authentication.watched_file import WatchedFile
from shared.settings import JwtSettings, ServerSettings


class Authenticator(Protocol):
    """Knows callers by what they send."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Caller:
        """The caller that sent `metadata`. Raises Unauthenticated."""


def authenticator_of(settings: ServerSettings) -> Authenticator:
    """The authenticator of the configured mode. Raises OSError and ValueError where a file of it cannot be used."""
    if settings.auth_mode == "none":
        return LocalAuthenticator()
    grants = _grants(settings.auth_grants_file) if settings.auth_grants_file else None
    if settings.auth_mode == "jwt":
        return _jwt(settings.jwt, grants)
    assert grants is not None, "the settings ask for a grants file in this mode"
    return StaticAuthenticator(grants)


def _grants(path: Path) -> WatchedFile[Grants]:
    return WatchedFile(path, Grants.parse, name="grants")


def _jwt(settings: JwtSettings, grants: WatchedFile[Grants] | None) -> Authenticator:
    # Here, for the other modes do without its libraries.
    from shared.authentication.jwt import Expected, JwtAuthenticator
    from shared.authentication.key_set import FetchedKeys, FileKeys, KeySet, fetching

    keys: KeySet
    if settings.keys_is_url:
        keys = FetchedKeys(fetching(settings.keys, settings.keys_ca_file))
    else:
        keys = FileKeys(Path(settings.keys))
    expected = Expected(settings.issuer, settings.audience, settings.algorithm_names, settings.leeway_s)
    return JwtAuthenticator(keys, expected, claim=settings.claim, grants=grants)
