"""Mode `none`: whoever can reach the loopback interface is the one local caller, and may do everything."""

from collections.abc import Mapping

from shared.authentication.caller import EVERYWHERE, PERMISSIONS, Caller, Grant

LOCAL_CALLER = Caller(
    subject="local",
    grants=(Grant((EVERYWHERE,), PERMISSIONS),),
    labels=frozenset({"principal:local"}),
    sees_all=True,
    clearances=frozenset({"pii"}),
)


class LocalAuthenticator:
    """Asks for nothing. `ServerSettings` refuses it on any address but loopback."""

    async def authenticate(self, metadata: Mapping[str, str]) -> Caller:
        """The local caller, whatever `metadata` says."""
        return LOCAL_CALLER
