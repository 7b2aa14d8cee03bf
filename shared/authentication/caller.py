"""Who is calling: what it may do, and which labels it holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shared.errors import PermissionDenied

READ, WRITE, ADMIN = "read", "write", "admin"
PERMISSIONS = frozenset({READ, WRITE, ADMIN})


@dataclass(frozen=True)
class Caller:
    """An authenticated caller and its grants (AC-1)."""

    subject: str
    namespaces: tuple[str, ...]
    """Names of namespaces; one that ends in `*` stands for all that begin with what is before it."""
    permissions: frozenset[str]
    labels: frozenset[str] = frozenset()
    """The restricting labels that it holds: `principal:`, `workspace:` and `role:`."""
    sees_all: bool = False
    """Whether restricting labels hide nothing from it."""
    clearances: frozenset[str] = frozenset()
    agent_id: str = ""

    def may(self, permission: str, namespace: str) -> bool:
        """Whether its grants allow `permission` in `namespace`."""
        return permission in self.permissions and any(_covers(grant, namespace) for grant in self.namespaces)

    def require(self, permission: str, namespace: str) -> None:
        """Raises PermissionDenied where `may` is false."""
        if not self.may(permission, namespace):
            raise PermissionDenied(permission)


_current: ContextVar[Caller] = ContextVar("caller")


def current_caller() -> Caller:
    """The caller of the call under way. Raises LookupError outside of one."""
    return _current.get()


@contextmanager
def acting_as(caller: Caller) -> Iterator[None]:
    """Makes `caller` the current one for what happens inside."""
    token = _current.set(caller)
    try:
        yield
    finally:
        _current.reset(token)


def _covers(grant: str, namespace: str) -> bool:
    if grant.endswith("*"):
        return namespace.startswith(grant[:-1])
    return namespace == grant
