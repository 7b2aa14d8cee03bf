"""What a caller may see of a namespace: the three arguments that every statement begins with."""

from __future__ import annotations

from dataclasses import dataclass

from shared.authentication.caller import READ, Caller
from shared.consistency_token import Freshness

_RULE_SCOPES = {"agent": "AGENT", "role": "ROLE"}


@dataclass(frozen=True, slots=True)
class View:
    """A namespace as one caller sees it."""

    namespace: str
    granted: tuple[str, ...]
    """The restricting labels that the caller holds, sorted."""
    sees_all: bool
    holders: tuple[str, ...] = ()
    """Whom it is, as rules name their holders: `AGENT id`, `ROLE name`."""
    after: Freshness | None = None
    """What it asks to see at least of a replica."""

    @classmethod
    def of(cls, caller: Caller, namespace: str, permission: str = READ) -> View:
        """The caller's view of a namespace. Raises PermissionDenied without `permission` on it."""
        caller.require(permission, namespace)
        return cls(namespace, tuple(sorted(caller.labels)), caller.sees_all, _holders(caller))


def _holders(caller: Caller) -> tuple[str, ...]:
    agents = [f"agent:{caller.agent_id}"] if caller.agent_id else []
    return tuple(sorted(holder for label in (*caller.labels, *agents) for holder in rule_holders(label)))


def rule_holders(label: str) -> tuple[str, ...]:
    """How rules may name who has a label (EN-7): by scope and name, the name with its type or without; empty where no
    rule can be meant for it."""
    scope = _RULE_SCOPES.get(label.partition(":")[0])
    name = label.partition(":")[2]
    return tuple(f"{each} {holder}" for each in (scope, "TEMPORARY") for holder in (name, label)) if scope else ()
