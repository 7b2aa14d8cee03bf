"""The writer as a service: what it is made of, how it starts and stops."""

import asyncio
import logging
from contextlib import suppress

import grpc.aio

from services.writer.applier import Applier
from services.writer.audit.grants_loop import GrantsLoop
from services.writer.clearing_loop import EXPIRED_TRACES, OLD_NOTES, ClearingLoop
from services.writer.curation_loop import CurationLoop
from services.writer.documents.servicer import STORED_MESSAGES
from services.writer.embedder_client import EmbedderClients
from services.writer.embedding_loop import EmbeddingLoop
from services.writer.erasure.messages import emptied
from services.writer.extraction.extracting import extracting
from services.writer.messages import assertion_count
from services.writer.retention import Redactor
from services.writer.servicer import WriterServicer, register_servicer
from services.writer.settings import WriterSettings
from services.writer.word_index_loop import WordIndexLoop
from shared.database import Database
from shared.errors import PalimpsestError
from shared.interceptors.admission import Bounds
from shared.interceptors.personal_data import PersonalData
from shared.personal_data.protection import Protections
from shared.schema.fitness import Fitness
from shared.schema.migrate import SchemaError, migrate
from shared.server import Service

_log = logging.getLogger(__name__)

NAME = "palimpsest.v1.WriterService"
_RETRY_S = 1.0
# Single observations share transactions: more of them at a time are less work each.
_CALLS_A_TRANSACTION = 8


def build_service(settings: WriterSettings) -> Service:
    """The writer, to be run by `shared.server.serve`. It is ready once the schema is there and the database answers."""
    writer = _Writer(settings)
    return Service(
        name=NAME,
        register=writer.register,
        ready=writer.ready,
        on_start=writer.start,
        on_stop=writer.stop,
        guard=writer.guard,
        bounds=Bounds.of_pool(settings.database.pool_max, calls_a_connection=_CALLS_A_TRANSACTION),
    )


class _Writer:
    """The parts of a running writer."""

    def __init__(self, settings: WriterSettings) -> None:
        self._settings = settings
        self._database = Database.open(settings.database)
        self._embedder: EmbedderClients | None = None
        self._work: asyncio.Task[None] | None = None
        self._fitness = Fitness(settings.database)
        self._word_index = WordIndexLoop(self._database)
        self._migrated = False
        protections = Protections(self._database, age_s=settings.protection_age_s)
        self.guard = PersonalData(protections, self._database, has_questions=False)

    def register(self, server: grpc.aio.Server) -> None:
        """Adds the servicer, which answers UNAVAILABLE as long as there is no database."""
        self._embedder = EmbedderClients(self._settings.embedding.target)
        applier = Applier(self._database, assertion_count, self._word_index.note)
        servicer = WriterServicer(self._database, applier, self._embedder, self._settings)
        register_servicer(servicer, server)

    async def ready(self) -> bool:
        """Whether the database answers, and has a schema that this code can work on (SH-3, OP-6)."""
        try:
            return self._migrated and await self._fitness.is_fit()
        except PalimpsestError:
            return False

    async def start(self) -> None:
        """Begins to wait for the database, in the background: a service that starts before it recovers by itself."""
        self._work = asyncio.create_task(self._migrate_and_work())

    async def stop(self) -> None:
        """Ends the loops, then closes what it used."""
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work
        if self._embedder is not None:
            await self._embedder.close()
        await self._fitness.close()
        await self._database.close()

    async def _migrate_and_work(self) -> None:
        while not self._migrated:
            self._migrated = await self._migrate()
        loops = (self._embed(), self._curate(), self._extract(), self._tell_of_grants(), self._word_index.run())
        clearing = (ClearingLoop(self._database, each).run() for each in (EXPIRED_TRACES, OLD_NOTES))
        await asyncio.gather(*loops, *clearing)

    async def _tell_of_grants(self) -> None:
        if self._settings.server.auth_grants_file is not None:
            await GrantsLoop(self._database, self._settings.server.auth_grants_file).run()

    async def _embed(self) -> None:
        if self._settings.embedding.enabled and self._embedder is not None:
            await EmbeddingLoop(self._database, self._embedder, self._settings.embedding).run()

    async def _extract(self) -> None:
        settings = self._settings.extraction
        if settings.url and settings.enabled:
            await extracting(self._database, settings)

    async def _curate(self) -> None:
        if self._settings.curation.enabled:
            redactor = Redactor(STORED_MESSAGES, emptied)
            await CurationLoop(self._database, redactor, self._settings.curation).run()

    async def _migrate(self) -> bool:
        try:
            applied = await migrate(self._database, timeout_s=self._settings.migrate_timeout_s, include_post=False)
            is_fit = await self._fitness.is_fit()
        except PalimpsestError as error:
            _log.warning("the schema is not there yet: %s", error.reason)
        except SchemaError as error:
            # An operator may mend it without restarting us.
            _log.error("the schema cannot be used: %s", error)
        else:
            if is_fit:
                _log.info("the schema is up to date", extra={"applied": applied})
                return True
        await asyncio.sleep(_RETRY_S)
        return False
