"""Purge: what is selected is erased, by cascade, from everywhere (AU-2, AU-3)."""

from dataclasses import dataclass
from typing import TypeAlias

from palimpsest.audit import format_numbers

from services.writer.applier import namespace_lock_key
from services.writer.audit.content_store import ContentStore
from services.writer.erasure_store import ErasureStore, Receipt
from services.writer.namespace_store import NamespaceStore
from services.writer.purge_store import PurgeStore
from services.writer.steps.erasure import Erased, Messages
from services.writer.steps.preview import previewed
from services.writer.steps.purging import KeptOut, Selection, purge_observations
from services.writer.steps.receipts import fresh_receipt_id, keep_receipt, key_target
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.mentions import mentions, names_of


@dataclass(frozen=True, slots=True)
class About:
    """All about an entity; with `merged`, about all that it was confirmed to be one with, too."""

    key: str
    merged: bool = False


@dataclass(frozen=True, slots=True)
class From:
    """All that came from a source; of it what is empty is any."""

    system: str
    stream: str
    external_id: str
    revision: str


@dataclass(frozen=True, slots=True)
class One:
    """One observation."""

    observation_id: str


Selector: TypeAlias = About | From | One


async def purge(
    database: Database,
    messages: Messages,
    *,
    namespace: str,
    selector: Selector,
    reason: str,
    by: str,
    dry_run: bool,
    timeout_s: float | None,
) -> tuple[Receipt, str]:
    """The receipt, and a token. With `dry_run` a receipt without id of what would be erased, and nothing is."""

    async def work(connection: Connection) -> Receipt:
        await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
        selected = await _select(connection, namespace, selector)
        names = names_of(selected.keys, await PurgeStore(connection, namespace).names_of(selected.keys))
        erased = await purge_observations(connection, namespace, selected, messages, kept_out=KeptOut.IDENTITY)
        await ErasureStore(connection, namespace).forget_reasons_naming(names)
        told = await ContentStore(connection, namespace).erase(_targets(selected, erased), names)
        target, details = _told(namespace, selector)
        return await keep_receipt(
            connection,
            namespace,
            receipt_id=fresh_receipt_id(),
            action="purge",
            target=target,
            counts=erased.counts() | {"audit_contents": len(told)},
            by=by,
            reason=reason,
            # What names what is gone is kept in masked form only.
            kept_reason="" if mentions(names, reason) else reason,
            details=details | ({"audit_contents": format_numbers(told)} if told else {}),
        )

    if dry_run:
        receipt = await previewed(database, work, timeout_s=timeout_s)
        receipt = receipt._replace(receipt_id="", audit_hash="")
    else:
        receipt = await database.transaction(work, timeout_s=timeout_s)
    return receipt, encode(await database.write_position())


async def _select(connection: Connection, namespace: str, selector: Selector) -> Selection:
    purging = PurgeStore(connection, namespace)
    match selector:
        case One(observation_id):
            return Selection(frozenset(await purging.stored(observation_id)))
        case From(system, stream, external_id, revision):
            ids = await purging.said_by_source(system, stream, external_id, revision)
            return Selection(frozenset(ids), source=None if external_id else (system, stream))
        case About(key, merged):
            packs = await NamespaceStore(connection).acting_packs(namespace)
            # As it was stored under whatever packs acted then.
            keys = {key, packs.key(key)}
            keys = await purging.merged_with(keys) if merged else keys
            fact_ids = await purging.facts_about(keys)
            ids = await purging.said_about(keys, fact_ids)
            return Selection(frozenset(ids), frozenset(keys), frozenset(fact_ids))


def _targets(selected: Selection, erased: Erased) -> set[str]:
    """What events of callers may be about that is gone."""
    return {*erased.observations, *erased.entities, *erased.facts, *selected.keys}


def _told(namespace: str, selector: Selector) -> tuple[str, dict[str, str]]:
    """What the audit says of a selection: target and particulars."""
    match selector:
        case One(observation_id):
            return observation_id, {"selector": "observation"}
        case From():
            identity = (selector.system, selector.stream, selector.external_id, selector.revision)
            name = "/".join(part for part in identity if part)
            return f"source:{audit.digest(namespace, name)}", {
                "selector": "source",
                **audit.described(namespace, source=name),
            }
        case About(key, merged):
            said = audit.described(namespace, key=key)
            return key_target(namespace, key), {"selector": "subject" if merged else "entity", **said}
