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
    roles: Annotated[
        bool, typer.Option("--roles", help="Also grant the roles of the services what each needs, and no more.")
    ] = False,
    writer_role: Annotated[str, typer.Option("--writer-role", help="The role of writers.")] = "palimpsest_writer",
    reader_role: Annotated[str, typer.Option("--reader-role", help="The role of readers.")] = "palimpsest_reader",
    as_json: Json = False,
) -> None:
    """Create the schema, or bring it to this version. Safe to run at any time, and by several at once.

    With --roles each service can connect as a user of its own, who is a member of its role. Then the reader cannot
    write, nobody can alter the audit, and only the owner changes the schema: run it again after each upgrade.
    """
    if not dsn:
        raise Failure(f"no database is named: give --dsn or set {DSN_VARIABLE}", ExitCode.USAGE)
    applied = migrated(dsn, timeout_s)
    granted = _granted(dsn, writer_role, reader_role, timeout_s) if roles else []
    if as_json:
        say_json({"applied": applied, **({"roles": granted} if granted else {})})
        return
    say(f"Applied: {', '.join(applied)}" if applied else "Nothing to do: the schema is of this version.")
    if granted:
        say(f"Granted to the roles {' and '.join(granted)}: make the users of your services members of these.")


def _granted(dsn: str, writer: str, reader: str, timeout_s: float) -> list[str]:
    """Grants the roles of the services what they need; their names. Raises Failure."""
    from shared.errors import DatabaseUnavailable, DeadlineExceeded
    from shared.schema.migrate import SchemaError
    from shared.schema.roles import grant_roles

    try:
        asyncio.run(grant_roles(dsn, writer=writer, reader=reader, timeout_s=timeout_s))
    except (DatabaseUnavailable, DeadlineExceeded) as error:
        raise Failure(f"the database cannot be reached: {error}", ExitCode.UNAVAILABLE) from None
    except (SchemaError, ValueError) as error:
        raise Failure(str(error)) from None
    return [writer, reader]


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
