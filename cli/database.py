"""What commands share that work on the database itself, as its owner, and not through the services."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

import typer

from cli.failure import ExitCode, Failure

T = TypeVar("T")

DSN_VARIABLE = "PALIMPSEST_DSN"

Dsn = Annotated[
    str | None,
    typer.Option("--dsn", envvar=DSN_VARIABLE, show_envvar=True, help="postgresql://user:password@host:port/db"),
]


def named(dsn: str | None) -> str:
    """The database that was named. Raises Failure."""
    if not dsn:
        raise Failure(f"no database is named: give --dsn or set {DSN_VARIABLE}", ExitCode.USAGE)
    return dsn


def ran(work: Coroutine[Any, Any, T]) -> T:
    """Runs the work; what it answers. Raises Failure."""
    from shared.errors import DatabaseUnavailable, DeadlineExceeded, PalimpsestError
    from shared.schema.migrate import SchemaError

    try:
        return asyncio.run(work)
    except (DatabaseUnavailable, DeadlineExceeded) as error:
        raise Failure(f"the database cannot be reached: {error}", ExitCode.UNAVAILABLE) from None
    except OSError as error:
        raise Failure(f"the database cannot be reached: {error.strerror or error}", ExitCode.UNAVAILABLE) from None
    except (SchemaError, PalimpsestError, ValueError) as error:
        raise Failure(str(error)) from None
