"""What a caller may see of a namespace: the three arguments that every statement begins with."""

from __future__ import annotations

from dataclasses import dataclass

from shared.authentication.caller import READ, Caller


@dataclass(frozen=True, slots=True)
class View:
    """A namespace as one caller sees it."""

    namespace: str
    granted: tuple[str, ...]
    """The restricting labels that the caller holds, sorted."""
    sees_all: bool

    @classmethod
    def of(cls, caller: Caller, namespace: str, permission: str = READ) -> View:
        """The caller's view of a namespace. Raises PermissionDenied without `permission` on it."""
        caller.require(permission, namespace)
        return cls(namespace, tuple(sorted(caller.labels)), caller.sees_all)
