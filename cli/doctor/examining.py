"""All checks, one after the other, on what the operator named."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from urllib.parse import urlsplit

from palimpsest.client import Client

from cli.doctor import database_checks
from cli.doctor.database_checks import Fleet
from cli.doctor.embedder_checks import embedder_findings
from cli.doctor.finding import Examination, Finding
from cli.doctor.settings_checks import settings_findings
from shared.database import Connection, Database
from shared.errors import PalimpsestError
from shared.settings import DatabaseSettings
from shared.sqlstate import StatementFailed

_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at; what is empty or None is not there."""

    dsn: str
    """The writer's database."""
    reader_dsn: str = ""
    primary_dsn: str = ""
    """What the reader is told of the primary, where its database is a replica."""
    embedder: str = ""
    pool_max: int = 10
    writers: int = 1
    readers: int = 1
    processes: int = 1
    pod_grace_s: float | None = None

    @property
    def fleet(self) -> Fleet:
        """Connections of all replicas at the writer's server: their pools, and for each process one to listen and one
        to ask for readiness. Readers are there, too, as another user or not, unless theirs is another server."""
        is_shared = not self.reader_dsn or _server(self.reader_dsn) == _server(self.dsn)
        replicas = self.writers + (self.readers if is_shared else 0)
        processes = replicas * self.processes
        told = f"{replicas} replicas of {self.processes} processes, {self.pool_max} each and two beside them"
        return Fleet(processes * (self.pool_max + 2), told)


def _server(dsn: str) -> str:
    """Where a DSN leads to, whoever logs in there, and to which of its databases."""
    return urlsplit(dsn).netloc.rpartition("@")[2]


async def examined(patient: Patient, client: Callable[[str], Client]) -> Examination:
    """What was found; `client` opens one of an embedder's address. What cannot be reached is a finding, too."""
    checks, findings = ["settings"], list(settings_findings(dsn=patient.dsn, pod_grace_s=patient.pod_grace_s))
    active = ""
    for name, dsn in (("writer", patient.dsn), ("reader", patient.reader_dsn)):
        if not dsn:
            continue
        checks.append(f"database of the {name}")
        database = Database.open(DatabaseSettings(dsn=dsn, pool_min=0, pool_max=2, statement_cache_size=0))
        try:
            found, model = await _of_database(database, patient, name)
        except (PalimpsestError, StatementFailed) as error:
            found, model = [_unreachable(name, error)], ""
        finally:
            await database.close()
        findings += found
        active = active or model
    if patient.embedder:
        checks.append("embedder")
        with client(patient.embedder) as asked:
            findings += embedder_findings(asked, patient.embedder, active)
    return Examination(tuple(checks), tuple(dict.fromkeys(findings)))


async def _of_database(database: Database, patient: Patient, name: str) -> tuple[list[Finding], str]:
    found: list[Finding] = []
    is_writer = name == "writer"
    async with database.connection(_TIMEOUT_S) as connection:
        found += await _all(database_checks.server_findings(connection, patient.fleet))
        found += await _all(database_checks.extension_findings(connection))
        if not await database_checks.has_schema(connection):
            return [*found, _no_schema()], ""
        found += await _all(database_checks.schema_findings(connection, is_writer=is_writer))
        found += await _all(database_checks.queue_findings(connection))
        found += await _all(database_checks.rights_findings(connection, is_reader=not is_writer))
        found += await _of_replica(connection, patient, is_writer=is_writer)
        active = await database_checks.active_model(connection)
        is_replica = await database_checks.replica(connection)
    if not is_replica:  # where nobody can notify
        found += await _all(database_checks.pooler_findings(database))
    return found, active


async def _of_replica(connection: Connection, patient: Patient, *, is_writer: bool) -> list[Finding]:
    if is_writer or patient.primary_dsn or not await database_checks.replica(connection):
        return []
    return [
        Finding(
            "replica-primary",
            "the reader's database is a replica, and PALIMPSEST_READER_PRIMARY_DSN names no primary",
            "Packs leave no trace, what was known at a moment is not answered, and those cleared for personal data are "
            "refused it, since no audit event can be written.",
            "Set PALIMPSEST_READER_PRIMARY_DSN to the primary, with a role that may leave traces and audit events.",
        )
    ]


async def _all(found: AsyncIterator[Finding]) -> list[Finding]:
    async with aclosing(found) as opened:  # type: ignore[type-var]  # all of them are generators
        return [each async for each in opened]


def _no_schema() -> Finding:
    return Finding(
        "schema",
        "there is no schema of Palimpsest in this database, or not on the search_path of this role",
        "No service is ready.",
        "Run `palimpsest init-db`, and see that the DSN names the right database.",
    )


def _unreachable(name: str, error: Exception) -> Finding:
    reason = error.reason if isinstance(error, PalimpsestError) else str(error)
    return Finding(
        "database",
        f"the database of the {name} cannot be used: {reason}",
        "The service is not ready.",
        "See that it runs, that the DSN, its user and password are right, and that the network lets it through.",
    )


def variable(name: str) -> str:
    """What an environment variable of the services says; empty where it is not set."""
    return os.environ.get(f"PALIMPSEST_{name}", "")


def number(name: str, default: int) -> int:
    """What a variable says that is a whole number; the default where it is none, which is a finding of the settings."""
    told = variable(name)
    return int(told) if told.isdecimal() else default
