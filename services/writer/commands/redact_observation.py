"""RedactObservation: an observation loses its content, keeps its identity; what rested on it follows (AU-2, FA-8)."""

from collections.abc import Callable

from services.writer.applier import namespace_lock_key
from services.writer.erasure_store import ErasureStore, Receipt
from services.writer.purge_store import PurgeStore
from services.writer.recording import REDACTED
from services.writer.steps.erasure import Erased, Messages, erase_observations
from services.writer.steps.receipts import keep_receipt, redaction_receipt_id
from services.writer.store import Store
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import NotFound


async def redact_observation(
    database: Database,
    messages: Messages,
    *,
    namespace: str,
    observation_id: str,
    emptied: Callable[[bytes], bytes],
    by: str,
    reason: str,
    timeout_s: float | None,
) -> tuple[Receipt, str]:
    """The receipt, and a token. `emptied` gives what is left of a stored message. Raises NotFound.

    What was redacted before has the receipt of then, by which this call erased nothing.
    """

    async def work(connection: Connection) -> Receipt:
        store = Store(connection)
        await store.lock_namespaces([(namespace_lock_key(namespace), True)])
        rows = await store.lock_observations([(namespace, observation_id)])
        if not rows:
            raise NotFound("observation")
        receipt_id = redaction_receipt_id(namespace, observation_id)
        if rows[0]["status"] == REDACTED:
            return await _receipt_of_then(connection, namespace, observation_id, receipt_id)
        left = {observation_id: emptied(rows[0]["message"])}
        await PurgeStore(connection, namespace).forget_snapshot_items_said([observation_id])
        erased = await erase_observations(
            connection, namespace, [observation_id], messages, emptied=left, counts_texts=True
        )
        return await keep_receipt(
            connection,
            namespace,
            receipt_id=receipt_id,
            action="redact",
            target=observation_id,
            counts=erased.counts(),
            by=by,
            reason=reason,
            details={"type": "observation", "chunks": erased.chunks},
            erased_at=await ErasureStore(connection, namespace).redaction_moment(observation_id),
        )

    receipt = await database.transaction(work, timeout_s=timeout_s)
    return receipt, encode(await database.write_position())


async def _receipt_of_then(connection: Connection, namespace: str, observation_id: str, receipt_id: str) -> Receipt:
    """Of what retention redacted there is none but this."""
    erasing = ErasureStore(connection, namespace)
    receipt = await erasing.get_receipt(receipt_id)
    if receipt is None:
        receipt = Receipt(receipt_id, await erasing.redaction_moment(observation_id), {}, "", "", "")
    return receipt._replace(counts=Erased().counts())
