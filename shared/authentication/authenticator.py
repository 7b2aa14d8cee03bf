"""The seam between a call's metadata and its caller; each mode of authentication is one module beside this one."""

from collections.abc import Mapping
from typing import Protocol

from shared.authentication.caller import Caller
from shared.authentication.local import LocalAuthenticator
from shared.settings import ServerSettings


class Authenticator(Protocol):
    """Knows callers by what they send."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Caller:
        """The caller that sent `metadata`. Raises Unauthenticated."""


def authenticator_of(settings: ServerSettings) -> Authenticator:
    """The authenticator of the configured mode. Raises ValueError where this version does not have the mode."""
    if settings.auth_mode == "none":
        return LocalAuthenticator()
    raise ValueError(f"authentication mode {settings.auth_mode} is not available in this version")
