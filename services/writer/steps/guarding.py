"""Write roles, enforced (AC-5): who has none of an item's roles changes nothing of it.

What is decided when an observation is recorded is kept with it. So the state follows from the observations and these
decisions, in whatever order the observations came; only whether somebody without a role was there before a thing was
guarded does depend on who came first, as it must.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from services.writer.guard_store import GuardStore
from services.writer.projection.guarding import FACT, Item, changes
from services.writer.projection.rows import GuardWrite, Projection
from services.writer.recording import PreparedObservation
from shared.authentication.caller import WRITE
from shared.database import Connection
from shared.errors import PermissionDenied


async def without_denied(connection: Connection, items: Sequence[PreparedObservation]) -> list[PreparedObservation]:
    """The observations, less the assertions that their callers have no role for."""
    by_namespace: defaultdict[str, list[PreparedObservation]] = defaultdict(list)
    for item in items:
        if item.roles is not None:
            by_namespace[item.namespace].append(item)
    denied: dict[int, list[int]] = {}
    for namespace, asking in by_namespace.items():
        store = GuardStore(connection, namespace)
        guards = await store.guards_of(changed for item in asking for _, changed in changes(item.projection))
        lines = await _guarded_lines(store, asking)
        denied |= {id(item): found for item in asking if (found := _denied(item, guards, lines))}
    return [item.less(denied[id(item)]) if id(item) in denied else item for item in items]


async def require_role(
    connection: Connection, namespace: str, items: Collection[Item], roles: frozenset[str] | None
) -> None:
    """Raises PermissionDenied where one of the items is guarded, and none of its roles is among `roles`."""
    if roles is None:
        return
    guards = await GuardStore(connection, namespace).guards_of(items)
    if any(not roles & needed for needed in guards.values()):
        raise PermissionDenied(WRITE)


async def require_role_for_source(
    connection: Connection, source: tuple[str, str, str], roles: frozenset[str] | None
) -> None:
    """The same for all that a source (namespace, system, stream) guards: who hides a source hides that, too."""
    namespace, system, stream = source
    if roles is not None:
        guarded = await GuardStore(connection, namespace).guarded_by_source(system, stream)
        await require_role(connection, namespace, guarded, roles)


async def write_guards(connection: Connection, projections: Iterable[Projection]) -> None:
    """Keeps which roles may change what, from now on."""
    said: defaultdict[str, list[GuardWrite]] = defaultdict(list)
    for projection in projections:
        said[projection.namespace] += projection.guards
    for namespace, guards in sorted(said.items()):
        if guards:
            await GuardStore(connection, namespace).insert_guards(guards)


_Lines = dict[tuple[str, str], frozenset[str]]
"""By subject and predicate the roles that may change all guarded facts there."""


async def _guarded_lines(store: GuardStore, items: Sequence[PreparedObservation]) -> _Lines:
    lines = {line for item in items for line, _ in _joined(item)}
    if not lines:
        return {}
    found = await store.guarded_timelines(sorted(lines))
    guards = await store.guards_of((FACT, fact_id) for _, fact_id in found)
    needed: _Lines = {}
    for line, fact_id in found:
        roles = guards[FACT, fact_id]
        needed[line] = needed.get(line, roles) & roles
    return needed


def _joined(item: PreparedObservation) -> Iterable[tuple[tuple[str, str], int]]:
    """The timelines that an observation's facts join, and by which assertion."""
    for fact in item.projection.facts:
        if fact.predicate in item.packs.timelines:
            yield (fact.subject_key, fact.predicate), fact.stamp.assertion_index


def _denied(item: PreparedObservation, guards: dict[Item, frozenset[str]], lines: _Lines) -> list[int]:
    roles = item.roles or frozenset()
    changed = {index for index, each in changes(item.projection) if each in guards and not roles & guards[each]}
    ended = {index for line, index in _joined(item) if line in lines and not roles & lines[line]}
    return sorted(index for index in changed | ended if index >= 0)
