"""Counts what was refused, by reason, for the report on a namespace's health (CU-2)."""

import logging
from collections import Counter
from collections.abc import Iterable

import grpc

from services.writer.curation_store import CurationStore
from services.writer.recording import Outcome, Recorded
from shared.database import Database, StatementFailed
from shared.errors import PalimpsestError

_log = logging.getLogger(__name__)

# The caller's input is at fault, and would be again.
_OF_INPUT = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
}
_TIMEOUT_S = 2.0


class RefusalCount:
    """Adds to a namespace's counts. They are statistics: counted after the write, by a statement of its own, so that
    writers never wait for each other at one counter; a count that fails is lost."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, namespace: str, outcomes: Iterable[Outcome]) -> None:
        """Counts refused observations, each time that they are sent, and assertions that were not applied, once. What
        names no namespace is nobody's."""
        numbers = refusals(outcomes)
        if not numbers or namespace.split() != [namespace] or "\0" in namespace:
            return
        try:
            async with self._database.connection(_TIMEOUT_S) as connection:
                await CurationStore(connection, namespace).count_rejections(numbers)
        except (PalimpsestError, StatementFailed):
            _log.warning("refusals were not counted", exc_info=True)


def refusals(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How often each reason occurs; names of ErrorReason without prefix."""
    numbers: Counter[str] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Recorded):
            if not outcome.duplicate:
                numbers.update(failure["reason"] for failure in outcome.failures)
        elif outcome.code in _OF_INPUT:
            numbers[outcome.reason] += 1
    return numbers
