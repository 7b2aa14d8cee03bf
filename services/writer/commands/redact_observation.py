"""RedactObservation: an observation loses its content, keeps its identity; what rested on it follows (AU-2, FA-8)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from services.writer.applier import namespace_lock_key
from services.writer.erasure_store import ErasureStore
from services.writer.recording import REDACTED
from services.writer.steps.erasure import Erased, Messages, erase_observations
from services.writer.store import Store
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import NotFound


@dataclass(frozen=True, slots=True)
class Redaction:
    """When an observation was redacted, and what this call erased: nothing where it was redacted before."""

    redacted_at: datetime
    erased: Erased


async def redact_observation(
    database: Database,
    messages: Messages,
    *,
    namespace: str,
    observation_id: str,
    emptied: Callable[[bytes], bytes],
    timeout_s: float | None,
) -> tuple[Redaction, str]:
    """What the redaction erased, and a token. `emptied` gives what is left of a stored message. Raises NotFound."""

    async def work(connection: Connection) -> Redaction:
        store, erasing = Store(connection), ErasureStore(connection, namespace)
        await store.lock_namespaces([(namespace_lock_key(namespace), True)])
        rows = await store.lock_observations([(namespace, observation_id)])
        if not rows:
            raise NotFound("observation")
        erased = Erased()
        if rows[0]["status"] != REDACTED:
            left = {observation_id: emptied(rows[0]["message"])}
            erased = await erase_observations(connection, namespace, [observation_id], messages, emptied=left)
        return Redaction(await erasing.redaction_moment(observation_id), erased)

    redaction = await database.transaction(work, timeout_s=timeout_s)
    return redaction, encode(await database.write_position())
