"""`palimpsest init-db`: creates and upgrades the schema."""

from typing import Annotated

import typer

from cli.database import Dsn, named, ran
from cli.options import Json
from cli.output import say, say_json


def init_db(
    dsn: Dsn = None,
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
    from shared.schema.roles import grant_roles

    applied = migrated(named(dsn), timeout_s)
    granted = [writer_role, reader_role] if roles else []
    if granted:
        ran(grant_roles(named(dsn), writer=writer_role, reader=reader_role, timeout_s=timeout_s))
    if as_json:
        say_json({"applied": applied, **({"roles": granted} if granted else {})})
        return
    say(f"Applied: {', '.join(applied)}" if applied else "Nothing to do: the schema is of this version.")
    if granted:
        say(f"Granted to the roles {' and '.join(granted)}: make the users of your services members of these.")


def migrated(dsn: str, timeout_s: float) -> list[str]:
    """Brings the schema to this version; the names of what was applied. Raises Failure."""
    from shared.schema.migrate import migrate

    return ran(migrate(dsn, timeout_s=timeout_s))
