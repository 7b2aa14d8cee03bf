"""Extraction as a running writer does it."""

from services.writer.applier import Applier
from services.writer.extraction.endpoint import Endpoint
from services.writer.extraction.loop import ExtractionLoop, Reading
from services.writer.extraction.messages import to_said
from services.writer.extraction.observing import observed
from services.writer.messages import assertion_count
from services.writer.settings import ExtractionSettings
from shared.database import Database

READING = Reading(to_said, observed)


async def extracting(database: Database, settings: ExtractionSettings) -> None:
    """Extracts from what waits until cancelled."""
    endpoint = Endpoint(settings)
    try:
        # What it writes need not be embedded before single writes.
        applier = Applier(database, assertion_count).for_bulk()
        await ExtractionLoop(database, applier, endpoint, READING, settings).run()
    finally:
        await endpoint.close()
