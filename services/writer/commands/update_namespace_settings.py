"""UpdateNamespaceSettings: a new version of how a namespace behaves (NS-2)."""

import json
from collections.abc import Iterable
from typing import Any

from services.writer.applier import namespace_lock_key
from services.writer.namespace_packs import NamespacePacks
from services.writer.namespace_store import NamespaceStore, Settings
from services.writer.namespaces.settings_checks import enablement_violations
from services.writer.passage_store import PassageStore
from services.writer.projection.packs import Packs
from services.writer.steps.facts import settle_facts
from services.writer.steps.passages import wanted_passages, write_passages
from services.writer.steps.standing import settle_touched
from services.writer.steps.timelines import Timelines
from services.writer.store import Store
from shared import audit
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidField, InvalidState

_TIMELINES_AT_ONCE = 500
CAPTURE_AUTHORS = "capture_authors"
"""The one setting that names people."""


async def update_namespace_settings(
    database: Database,
    packs: NamespacePacks,
    *,
    namespace: str,
    settings: str,
    expected_version: int | None,
    updated_by: str,
    reason: str,
    timeout_s: float | None,
) -> tuple[Settings, str]:
    """The settings as they are now, and a token by which reads see them. `settings` is the whole, as JSON.

    Facts of predicates that gained or lost a timeline end, at commit, where they would have ended had the settings been
    in force when they were told. Keys and refusals of what is stored already stay as they are.

    Raises InvalidField for packs that cannot act; InvalidState where the stored version is not the expected one.
    """
    wanted = Settings(settings=settings)

    async def work(connection: Connection) -> Settings:
        await Store(connection).lock_namespaces([(namespace_lock_key(namespace), True)])
        store = NamespaceStore(connection)
        former = await store.acting_packs(namespace)
        if expected_version is not None and expected_version != former.version:
            raise InvalidState(str(former.version))
        enabled = await store.packs(namespace, wanted.enabled)
        if found := enablement_violations(wanted.enabled, enabled):
            raise InvalidField(found)
        now = Packs(former.version + 1, wanted.strict, enabled, wanted.protects)
        moment = await store.insert_settings(
            namespace, version=now.version, settings=settings, updated_by=updated_by, reason=reason
        )
        if now.protects and not former.protects:
            await store.begin_protection(namespace)
        await _derive_timelines(connection, namespace, former.timelines ^ now.timelines, now)
        await audit.append(
            connection,
            namespace,
            action="settings_change",
            actor=updated_by,
            target=f"settings:{now.version}",
            details={
                "former_version": former.version,
                "settings": _told(namespace, settings),
                **audit.described(namespace, reason=reason),
            },
        )
        return Settings(now.version, settings, moment, updated_by)

    updated = await database.transaction(work, timeout_s=timeout_s)
    packs.forget([namespace])
    return updated, encode(await database.write_position())


def _told(namespace: str, settings: str) -> dict[str, Any]:
    """Settings as the audit has them: authors are people, of whom it keeps hashes."""
    told: dict[str, Any] = json.loads(settings)
    if authors := told.pop(CAPTURE_AUTHORS, None):
        told["capture_authors_hashes"] = [audit.digest(namespace, author) for author in authors]
    return told


async def _derive_timelines(connection: Connection, namespace: str, predicates: Iterable[str], packs: Packs) -> None:
    """Lets the facts of predicates end where the packs say, a bounded number of subjects at a time."""
    changed = sorted(predicates)
    if not changed:
        return
    store, after = NamespaceStore(connection), ("", "")
    timelines = Timelines(store, {namespace: packs.timelines})
    while groups := await store.subjects_of(namespace, changed, after=after, limit=_TIMELINES_AT_ONCE):
        keys = await store.timeline_facts((namespace, *group) for group in groups)
        written = await settle_facts(Store(connection), keys, timelines)
        await write_passages(PassageStore(connection), wanted_passages((), {}, written.facts, {}))
        await settle_touched(connection, set(), written.facts.keys())
        after = groups[-1]
