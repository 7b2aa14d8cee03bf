"""`palimpsest scrub`: takes out of the database's files what erased rows left there."""

import asyncio
from typing import Annotated

import typer

from cli.commands.init_db import DSN_VARIABLE
from cli.failure import ExitCode, Failure
from cli.options import Json
from cli.output import note, say, say_json


def scrub(
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write each table anew: locks it meanwhile, and leaves no byte behind.")
    ] = False,
    dsn: Annotated[
        str | None,
        typer.Option("--dsn", envvar=DSN_VARIABLE, show_envvar=True, help="postgresql://user:password@host:port/db"),
    ] = None,
    as_json: Json = False,
) -> None:
    """After a purge: vacuum all tables and build their indexes of words and keys anew, while reads and writes go on.

    The database must be named as its owner, and not through a pooler. Its log and its backups keep what they hold.
    """
    if not dsn:
        raise Failure(f"no database is named: give --dsn or set {DSN_VARIABLE}", ExitCode.USAGE)
    tables = _scrubbed(dsn, rewrite)
    if as_json:
        say_json({"tables": tables, "rewritten": rewrite})
    else:
        say(f"{tables} tables are {'written anew' if rewrite else 'vacuumed, and their indexes built anew'}.")


def _scrubbed(dsn: str, rewrite: bool) -> int:
    from shared.schema.migrate import SchemaError
    from shared.schema.scrub import scrub as scrub_database

    try:
        return asyncio.run(scrub_database(dsn, rewrite=rewrite, progress=note))
    except SchemaError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"the database cannot be reached: {error.strerror or error}", ExitCode.UNAVAILABLE) from None
