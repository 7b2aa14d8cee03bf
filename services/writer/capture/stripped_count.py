"""Counts what is captured and what was taken out of it, for metrics and the report on a namespace's health (CU-2)."""

import logging
from collections import Counter
from collections.abc import Iterable

from prometheus_client import Counter as Metric

from services.writer.capture.store import CaptureStore
from services.writer.commands.capture_messages import Captured
from shared.database import Database, StatementFailed
from shared.errors import PalimpsestError
from shared.telemetry import registry

_log = logging.getLogger(__name__)

_TIMEOUT_S = 2.0

captured_messages = Metric(
    "palimpsest_captured_messages", "Messages that were captured, by what became of them.", ["fate"], registry=registry
)
stripped_parts = Metric(
    "palimpsest_stripped_parts", "Parts taken out of captured messages, by what they were.", ["what"], registry=registry
)


class StrippedCount:
    """Adds to a namespace's counts, after the write and by a statement of its own; a count that fails is lost."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, namespace: str, captured: Iterable[Captured]) -> None:
        """Counts what was taken out of messages that are new."""
        numbers: Counter[str] = Counter()
        for one in captured:
            captured_messages.labels(_fate(one)).inc()
            if one.cleaned is not None and one.error is None and not one.duplicate:
                numbers.update(one.cleaned.counts())
        for what, number in numbers.items():
            stripped_parts.labels(what).inc(number)
        if not numbers:
            return
        try:
            async with self._database.connection(_TIMEOUT_S) as connection:
                await CaptureStore(connection, namespace).count_stripped(numbers)
        except (PalimpsestError, StatementFailed):
            _log.warning("what was stripped was not counted", exc_info=True)


def _fate(captured: Captured) -> str:
    if captured.error is not None:
        return "refused"
    if captured.empty:
        return "empty"
    if captured.duplicate:
        return "duplicate"
    return "evidence" if captured.is_evidence else "unattributed"
