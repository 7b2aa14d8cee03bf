"""`palimpsest init-db`: creates and upgrades the schema."""

import asyncio
from typing import Annotated

import typer

from cli.failure import ExitCode, Failure
from cli.options import Json
from cli.output import say, say_json

DSN_VARIABLE = "PALIMPSEST_DSN"


def init_db(
    dsn: Annotated[
        str | None,
        typer.Option("--dsn", envvar=DSN_VARIABLE, show_envvar=True, help="postgresql://user:password@host:port/db"),
    ] = None,
    timeout_s: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the database.")] = 60.0,
    as_json: Json = False,
) -> None:
    """Create the schema, or bring it to this version. Safe to run at any time, and by several at once."""
    if not dsn:
        raise Failure(f"no database is named: give --dsn or set {DSN_VARIABLE}", ExitCode.USAGE)
    applied = migrated(dsn, timeout_s)
    if as_json:
        say_json({"applied": applied})
    elif applied:
        say(f"Applied: {', '.join(applied)}")
    else:
        say("Nothing to do: the schema is of this version.")


def migrated(dsn: str, timeout_s: float) -> list[str]:
    """Brings the schema to this version; the names of what was applied. Raises Failure."""
    from shared.errors import DatabaseUnavailable, DeadlineExceeded, PalimpsestError
    from shared.schema.migrate import SchemaError, migrate

    try:
        return asyncio.run(migrate(dsn, timeout_s=timeout_s))
    except (DatabaseUnavailable, DeadlineExceeded) as error:
        raise Failure(f"the database cannot be reached: {error}", ExitCode.UNAVAILABLE) from None
    except (SchemaError, PalimpsestError, ValueError) as error:
        raise Failure(str(error)) from None
