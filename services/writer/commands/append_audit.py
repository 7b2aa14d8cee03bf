"""AppendAudit: something that a caller has to answer for, as it tells it (AU-1)."""

from shared import audit
from shared.audit import AuditEvent
from shared.consistency_token import encode
from shared.database import Connection, Database


async def append_audit(
    database: Database,
    *,
    namespace: str,
    action: str,
    actor: str,
    target: str,
    details: str,
    trace_id: str,
    timeout_s: float | None,
) -> tuple[AuditEvent, str]:
    """The event as told, durable, and a token by which reads see it. `details` is JSON of an object, or empty."""

    async def work(connection: Connection) -> AuditEvent:
        return await audit.append_told(
            connection, namespace, action=action, actor=actor, target=target, details=details, trace_id=trace_id
        )

    event = await database.transaction(work, timeout_s=timeout_s)
    return event, encode(await database.write_position())
