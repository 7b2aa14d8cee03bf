"""What setting any mark has in common: the item is found and locked, all that shows it follows at once (EN-6), and the
audit tells of it (AU-1)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from services.writer.applier import namespace_lock_key
from services.writer.mark_store import ENTITY, FACT, Marked, MarkStore, Operator
from services.writer.steps.guarding import require_role
from services.writer.steps.receipts import key_target
from services.writer.steps.standing import settle_standing
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import NotFound

T = TypeVar("T")
Setting = Callable[[MarkStore, bool], Awaitable[T]]
"""Sets the mark; it is told whether the item is archived."""
Telling = Callable[[T], Mapping[str, Any] | None]
"""Particulars of what setting the mark answered; None: nothing was done that anybody has to answer for."""


def where_true(changed: bool) -> Mapping[str, Any] | None:
    """The telling of a mark whose setting answers whether anything changed."""
    return {} if changed else None


async def mark(
    database: Database,
    item: Marked,
    operator: Operator,
    setting: Setting[T],
    *,
    action: str,
    telling: Telling[T],
    reason: str = "",
    timeout_s: float | None,
) -> tuple[T, str]:
    """What setting the mark answered, and a token by which reads see it. Raises NotFound, PermissionDenied.

    `action`, `telling` and `reason` are for the audit.

    Alone in the namespace: a mark changes passages and vectors of facts that others may be writing.
    """

    async def work(connection: Connection) -> T:
        await Store(connection).lock_namespaces([(namespace_lock_key(item.namespace), True)])
        marks = MarkStore(connection, item)
        archived = await marks.lock(operator)
        if archived is None:
            raise NotFound(item.name)
        await require_role(connection, item.namespace, [(item.kind, item.key)], operator.roles)
        answer = await setting(marks, archived)
        key = (item.namespace, item.key)
        await settle_standing(connection, *(({key}, set()) if item.kind == ENTITY else (set(), {key})))
        if (told := telling(answer)) is not None:
            said = audit.described(item.namespace, title=await marks.title(), reason=reason)
            await audit.append(
                connection,
                item.namespace,
                action=action,
                actor=operator.subject,
                target=item.key if item.kind == FACT else key_target(item.namespace, item.key),
                details={"type": item.name, **told, **said},
            )
        return answer

    answer = await database.transaction(work, timeout_s=timeout_s)
    return answer, encode(await database.write_position())
