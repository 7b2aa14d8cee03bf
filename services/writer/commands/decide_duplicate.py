"""DecideDuplicate: what becomes of a proposed duplicate (EN-1a). Nothing is rewritten, so a merge can be undone."""

from enum import IntEnum

from services.writer.applier import namespace_lock_key
from services.writer.curation.merging import settle_merges
from services.writer.curation_store import CurationStore, Row, curation_lock_key
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidState, NotFound


class State(IntEnum):
    """What became of a proposal; numbers of DuplicateState."""

    PROPOSED = 1
    CONFIRMED = 2
    REFUSED = 3
    UNDONE = 4


class Decision(IntEnum):
    """What is decided; numbers of DuplicateDecision."""

    CONFIRM = 1
    REFUSE = 2
    UNDO = 3


# From which state each decision leads to which.
_WAYS = {
    Decision.CONFIRM: (State.PROPOSED, State.CONFIRMED),
    Decision.REFUSE: (State.PROPOSED, State.REFUSED),
    Decision.UNDO: (State.CONFIRMED, State.UNDONE),
}


async def decide_duplicate(
    database: Database,
    *,
    namespace: str,
    proposal_id: str,
    decision: Decision,
    by: str,
    reason: str,
    timeout_s: float | None,
) -> tuple[Row, str]:
    """The proposal as it is then, and a token by which reads see it. A decision that holds already changes nothing.

    Raises NotFound for an unknown proposal, InvalidState where its state does not allow the decision.
    """

    async def work(connection: Connection) -> Row:
        store = CurationStore(connection, namespace)
        knowledge = Store(connection)
        await knowledge.lock_namespaces([(curation_lock_key(namespace), True)])
        # Shared: nothing of it is erased meanwhile.
        await knowledge.lock_namespaces([(namespace_lock_key(namespace), False)])
        proposal = await store.lock_proposal(proposal_id)
        if proposal is None:
            raise NotFound("duplicate proposal")
        before, after = _WAYS[decision]
        if proposal["state"] == after:
            return proposal
        if proposal["state"] != before:
            raise InvalidState(State(proposal["state"]).name)
        decided = await store.decide_proposal(proposal_id, after, by=by, reason=reason)
        await _carry_out(store, decided)
        await audit.append(
            connection,
            namespace,
            action="decide_duplicate",
            actor=by,
            target=proposal_id,
            details={"state": State(after).name, **audit.described(namespace, reason=reason)},
        )
        return decided

    decided = await database.transaction(work, timeout_s=timeout_s)
    return decided, encode(await database.write_position())


async def _carry_out(store: CurationStore, proposal: Row) -> None:
    first_key, second_key = proposal["first_key"], proposal["second_key"]
    if proposal["state"] != State.CONFIRMED:
        await store.delete_duplicate_link(second_key, first_key)
    if proposal["state"] == State.REFUSED:
        return
    # An undone merge may part what others still join, on either side.
    await settle_merges(store, {first_key, second_key})
