"""Observations purged: as if they had never been sent, and named nowhere any more but by the hashes that keep them out
(AU-2, AU-3)."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum, auto

from services.writer.curation_store import CurationStore
from services.writer.document_store import DocumentStore
from services.writer.erasure_store import ErasureStore
from services.writer.extraction.store import ExtractionStore
from services.writer.mark_store import ENTITY, FACT
from services.writer.purge_store import PurgeStore
from services.writer.snapshot_store import SnapshotScope, SnapshotStore
from services.writer.steps.erasure import Erased, Messages, erase_observations
from services.writer.steps.receipts import redaction_receipt_id
from shared.database import Connection
from shared.normal_form import normal_form

# Shorter ones would be found in the middle of other words.
_SHORTEST_NAME = 3


class KeptOut(Enum):
    """What of purged observations does not come in again."""

    NOTHING = auto()
    CONTENT = auto()
    """The same content: another under the identity corrects it."""
    IDENTITY = auto()


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to go: observations; entities that are to be named nowhere, and the facts at them; sources as a whole,
    by system and stream (empty: all)."""

    observation_ids: frozenset[str]
    keys: frozenset[str] = frozenset()
    fact_ids: frozenset[str] = frozenset()
    source: tuple[str, str] | None = None


async def purge_observations(
    connection: Connection,
    namespace: str,
    selected: Selection,
    messages: Messages,
    *,
    kept_out: KeptOut,
) -> Erased:
    """Erases what is selected, and what was made of it, from wherever it is kept or named. Call under the
    exclusive lock of the namespace."""
    purging = PurgeStore(connection, namespace)
    ids = selected.observation_ids
    ids |= (await ExtractionStore(connection).derived_from(namespace, ids)).keys()
    if kept_out is not KeptOut.NOTHING:
        await purging.bury(ids, same_content_only=kept_out is KeptOut.CONTENT)
    await purging.forget_snapshot_items_said(ids)
    names = _names(selected.keys, await purging.names_of(selected.keys))
    erased = await erase_observations(connection, namespace, ids, messages, counts_texts=True)
    lost = await purging.delete_lost_facts(selected.fact_ids)
    erased = replace(erased, facts=erased.facts | lost)
    await DocumentStore(connection, namespace).forget_observations(ids)
    await _forget_items(connection, namespace, erased.entities | selected.keys, erased.facts)
    await purging.forget_cursors(ids)
    await ErasureStore(connection, namespace).forget_reasons({redaction_receipt_id(namespace, one) for one in ids})
    await purging.forget_authors(selected.keys)
    if selected.source is not None:
        await purging.forget_source(*selected.source)
        await SnapshotStore(connection, SnapshotScope(namespace, *selected.source)).forget()
    await purging.forget_vault_keys_mentioning(names)
    mentions = await _delete_traces(connection, namespace, lost, names)
    return replace(erased, traces=erased.traces + mentions)


async def _forget_items(
    connection: Connection, namespace: str, keys: Collection[str], fact_ids: Collection[str]
) -> None:
    """What operators, snapshots, vaults and curation say of what is gone names it, so it goes too."""
    erasing = ErasureStore(connection, namespace)
    await erasing.forget_marks(ENTITY, keys)
    await erasing.forget_marks(FACT, fact_ids)
    await CurationStore(connection, namespace).forget_facts(sorted(fact_ids))
    await PurgeStore(connection, namespace).forget_items(keys, fact_ids)


async def _delete_traces(connection: Connection, namespace: str, lost: Collection[str], names: Collection[str]) -> int:
    """Traces that name lost facts, or in which somebody asked for what is to be named nowhere; answers how many."""
    deleted = await ErasureStore(connection, namespace).delete_traces(lost) if lost else 0
    return deleted + await PurgeStore(connection, namespace).delete_traces_mentioning(names)


def _names(keys: Collection[str], titles: Collection[str]) -> set[str]:
    """What somebody may have asked for entities by, as it was written, in lower case and in normal form."""
    said = {*keys, *(key.partition(":")[2] for key in keys), *titles}
    return {form for name in said for form in (name, name.lower(), normal_form(name)) if len(form) >= _SHORTEST_NAME}
