"""Whether a service fits the schema that it meets, for its readiness (OP-6).

Asked on a connection of its own: a pool that calls have taken is busy, and not unready (OP-1).
"""

from __future__ import annotations

import logging

from shared.database import Database
from shared.schema.migrate import SchemaError, load_migrations, unfitness
from shared.settings import DatabaseSettings

_log = logging.getLogger(__name__)


class Fitness:
    """Asked again and again; says in the log why the service is not ready, once for each reason."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self._database = Database.open(settings.model_copy(update={"pool_min": 0, "pool_max": 1}))
        self._migrations = load_migrations()
        self._told = ""

    async def is_fit(self) -> bool:
        """Whether the schema has what this code needs. Raises DatabaseUnavailable, DeadlineExceeded."""
        try:
            reason = await unfitness(self._database, self._migrations)
        except SchemaError as error:
            reason = str(error)
        if reason and reason != self._told:
            _log.error("not ready: %s", reason)
        self._told = reason
        return not reason

    async def close(self) -> None:
        """Closes the connection."""
        await self._database.close()
