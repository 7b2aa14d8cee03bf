"""What setting any mark has in common: the item is found and locked, and all that shows it follows at once (EN-6)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.writer.applier import namespace_lock_key
from services.writer.mark_store import ENTITY, Marked, MarkStore, Operator
from services.writer.steps.standing import settle_standing
from services.writer.store import Store
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import NotFound

T = TypeVar("T")
Setting = Callable[[MarkStore, bool], Awaitable[T]]
"""Sets the mark; it is told whether the item is archived."""


async def mark(
    database: Database, item: Marked, operator: Operator, setting: Setting[T], *, timeout_s: float | None
) -> tuple[T, str]:
    """What setting the mark answered, and a token by which reads see it. Raises NotFound.

    Alone in the namespace: a mark changes passages and vectors of facts that others may be writing.
    """

    async def work(connection: Connection) -> T:
        await Store(connection).lock_namespaces([(namespace_lock_key(item.namespace), True)])
        marks = MarkStore(connection, item)
        archived = await marks.lock(operator)
        if archived is None:
            raise NotFound(item.name)
        answer = await setting(marks, archived)
        key = (item.namespace, item.key)
        await settle_standing(connection, *(({key}, set()) if item.kind == ENTITY else (set(), {key})))
        return answer

    answer = await database.transaction(work, timeout_s=timeout_s)
    return answer, encode(await database.write_position())
