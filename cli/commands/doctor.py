"""`palimpsest doctor`: finds the likeliest misconfigurations, and says of each what to do."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer
from palimpsest.client import Client

from cli.credentials import credentials
from cli.database import Dsn, named
from cli.failure import ExitCode
from cli.options import Json
from cli.output import INDENT, say, say_json

ReaderDsn = Annotated[
    str, typer.Option("--reader-dsn", envvar="PALIMPSEST_DOCTOR_READER_DSN", help="The reader's database and user.")
]
Embedder = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar=["PALIMPSEST_EMBEDDING_TARGET", "PALIMPSEST_READER_EMBEDDER_TARGET"],
        metavar="ADDRESS",
        help="host:port of the embedder.",
    ),
]


def doctor(
    dsn: Dsn = None,
    reader_dsn: ReaderDsn = "",
    embedder: Embedder = "",
    writers: Annotated[int, typer.Option("--writers", min=0, help="Replicas of the writer.")] = 1,
    readers: Annotated[int, typer.Option("--readers", min=0, help="Replicas of the reader.")] = 1,
    pod_grace_s: Annotated[
        float | None, typer.Option("--pod-grace", min=0, help="Seconds that a pod has to stop.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Look for what is likely to be wrong: with the database, its roles, the embedder, and the settings.

    Run it where a service runs, with that service's environment. Nothing is written. --dsn is the writer's database.
    Ends with 0 where nothing is wrong, with 1 where something is.
    """
    from cli.doctor.examining import Patient, examined, number, variable

    patient = Patient(
        dsn=named(dsn),
        reader_dsn=reader_dsn,
        primary_dsn=variable("READER_PRIMARY_DSN"),
        embedder=embedder.split(",")[0].strip(),
        pool_max=number("POOL_MAX", 10),
        writers=writers,
        readers=readers,
        processes=number("PROCESSES", 1),
        pod_grace_s=pod_grace_s,
    )
    examination = asyncio.run(examined(patient, _client))
    if as_json:
        say_json(asdict(examination))
    elif not examination.findings:
        say(f"Nothing is wrong. Looked at: {', '.join(examination.checks)}.", "green")
    for finding in () if as_json else examination.findings:
        say(f"{finding.check}: {finding.seen}", "bold")
        say(f"{INDENT}{finding.matters}")
        say(f"{INDENT}To do: {finding.remedy}", "yellow")
    if examination.findings:
        raise typer.Exit(ExitCode.FAILED)


def _client(address: str) -> Client:
    return Client(embedder=address, **credentials())
