"""Who is calling: what it may do, and which labels it holds."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shared.errors import PermissionDenied

READ, WRITE, ADMIN = "read", "write", "admin"
PERMISSIONS = frozenset({READ, WRITE, ADMIN})
EVERYWHERE = "*"
_ROLE = "role:"


@dataclass(frozen=True)
class Grant:
    """What may be done where."""

    namespaces: tuple[str, ...]
    """Names of namespaces; one that ends in `*` stands for all that begin with what is before it."""
    permissions: frozenset[str]
    """None implies another."""

    def allows(self, permission: str, namespace: str) -> bool:
        """Whether it grants `permission` in `namespace`."""
        return permission in self.permissions and any(_covers(name, namespace) for name in self.namespaces)


@dataclass(frozen=True)
class Caller:
    """An authenticated caller and its grants (AC-1)."""

    subject: str
    grants: tuple[Grant, ...] = ()
    labels: frozenset[str] = frozenset()
    """The restricting labels that it holds: `principal:`, `workspace:` and `role:`."""
    sees_all: bool = False
    """Whether restricting labels hide nothing from it."""
    clearances: frozenset[str] = frozenset()
    agent_id: str = ""

    def may(self, permission: str, namespace: str) -> bool:
        """Whether its grants allow `permission` in `namespace`."""
        return any(grant.allows(permission, namespace) for grant in self.grants)

    def require(self, permission: str, namespace: str) -> None:
        """Raises PermissionDenied where `may` is false."""
        if not self.may(permission, namespace):
            raise PermissionDenied(permission)

    def namespaces(self, permission: str) -> tuple[str, ...]:
        """Where it has `permission`, as its grants name it: what concerns no namespace needs any, what lists
        namespaces shows these."""
        return tuple(name for grant in self.grants if permission in grant.permissions for name in grant.namespaces)

    def require_somewhere(self, permission: str) -> None:
        """Raises PermissionDenied for a caller that has `permission` in no namespace."""
        if not self.namespaces(permission):
            raise PermissionDenied(permission)

    def require_everywhere(self, permission: str) -> None:
        """Raises PermissionDenied unless it has `permission` in all namespaces: what concerns all of them needs it."""
        if EVERYWHERE not in self.namespaces(permission):
            raise PermissionDenied(permission)


_current: ContextVar[Caller] = ContextVar("caller")
_asking: ContextVar[Callable[[], Awaitable[Caller]] | None] = ContextVar("asking", default=None)


def current_caller() -> Caller:
    """The caller of the call under way. Raises LookupError outside of one."""
    return _current.get()


async def renewed_caller() -> Caller:
    """The caller of the call under way, by what its credentials say now, and from then on: for calls that
    last. Raises Unauthenticated where they are not valid any more, and KeysUnavailable."""
    ask = _asking.get()
    if ask is not None:
        _current.set(await ask())
    return current_caller()


def held_roles(namespace: str) -> frozenset[str] | None:
    """The roles by which the call under way may change guarded things of a namespace (AC-5). None: it may change all,
    as an administrator of the namespace, or as what the service does by itself."""
    caller = _current.get(None)
    if caller is None or caller.may(ADMIN, namespace):
        return None
    return frozenset(label.removeprefix(_ROLE) for label in caller.labels if label.startswith(_ROLE))


@contextmanager
def acting_as(caller: Caller, ask: Callable[[], Awaitable[Caller]] | None = None) -> Iterator[None]:
    """Makes `caller` the current one for what happens inside; `ask` tells again who it is."""
    token, asking = _current.set(caller), _asking.set(ask)
    try:
        yield
    finally:
        _current.reset(token)
        _asking.reset(asking)


def _covers(grant: str, namespace: str) -> bool:
    if grant.endswith("*"):
        return namespace.startswith(grant[:-1])
    return namespace == grant
