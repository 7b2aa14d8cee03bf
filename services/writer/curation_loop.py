"""Curates namespaces behind the writes (CU-1), and lets go what their settings keep no longer: each namespace after an
interval, one replica at a time, a bounded part at a time."""

import asyncio
import logging
from dataclasses import dataclass, field

from services.writer.commands.run_curation import Curated, run_curation
from services.writer.curation_loop_store import CurationRuns
from services.writer.metrics import curation_changes, curation_passes
from services.writer.retention import Redactor, Retained, apply_retention
from services.writer.settings import CurationSettings
from shared.database import Connection, Database
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

_STATEMENT_TIMEOUT_S = 30.0
# How often the loop looks for namespaces that are due, unless the interval is shorter.
_LONGEST_POLL_S = 30.0


@dataclass(frozen=True, slots=True)
class Part:
    """What one run did: in which namespace, and whether its pass is whole. Without a namespace nothing was due."""

    namespace: str | None = None
    done: bool = True
    failed: bool = False
    """The database could not go on. What was done stays done, and the rest is tried again when the lease has ended."""
    curated: Curated = field(default_factory=Curated)
    retained: Retained = field(default_factory=Retained)


class CurationLoop:
    """Curates what is due. Any number of them, in any number of processes, share the work."""

    def __init__(self, database: Database, redactor: Redactor, settings: CurationSettings) -> None:
        self._database = database
        self._redactor = redactor
        self._settings = settings

    async def run(self) -> None:
        """Runs what is due until cancelled, and looks again after a while. The loop outlives a fault of ours."""
        while True:
            try:
                while (part := await self.run_once()).namespace is not None and not part.failed:
                    pass
            except Exception:
                _log.exception("a part of curation failed")
            await asyncio.sleep(min(self._settings.interval_s, _LONGEST_POLL_S))

    async def run_once(self) -> Part:
        """Goes on with the pass of the namespace that has been due for longest, and says what it did.

        The namespace is leased meanwhile: another replica takes it only where this one does not come back. A pass that
        is not whole is due again at once, behind those that wait already.
        """
        try:
            namespace = await self._claim()
        except PalimpsestError as error:
            _log.debug("nothing can be claimed for curation: %s", error.reason)
            return Part(failed=True)
        if namespace is None:
            return Part()
        try:
            part = await self._curate(namespace)
        except PalimpsestError as error:
            _log.warning("curation did not go on: %s", error.reason)
            part = Part(namespace, done=False, failed=True)
        _count(part)
        return part

    async def _claim(self) -> str | None:
        settings = self._settings

        async def work(connection: Connection) -> str | None:
            runs = CurationRuns(connection)
            await runs.note_namespaces(settings.interval_s)
            return await runs.claim_namespace(settings.lease_s)

        return await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)

    async def _curate(self, namespace: str) -> Part:
        settings = self._settings
        # Half the lease each, so that nobody else is there before the end.
        within_s = settings.lease_s / 2
        retained = await apply_retention(
            self._database,
            self._redactor,
            namespace=namespace,
            max_observations=settings.most_redactions,
            timeout_s=within_s,
        )
        curated = await run_curation(
            self._database, namespace=namespace, max_items=settings.most_items, timeout_s=within_s
        )
        done = curated.done and retained.done

        async def work(connection: Connection) -> None:
            await CurationRuns(connection).put_off(namespace, settings.interval_s if done else 0.0)

        await self._database.transaction(work, timeout_s=_STATEMENT_TIMEOUT_S)
        return Part(namespace, done, curated=curated, retained=retained)


def _count(part: Part) -> None:
    curation_passes.labels("failed" if part.failed else "whole" if part.done else "partial").inc()
    changes = {**part.curated.counts, "outlived": part.retained.outlived, "purged": part.retained.purged}
    for change, number in changes.items():
        curation_changes.labels(change).inc(number)
