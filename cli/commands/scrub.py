"""`palimpsest scrub`: takes out of the database's files what erased rows left there."""

from typing import Annotated

import typer

from cli.database import Dsn, named, ran
from cli.options import Json
from cli.output import note, say, say_json


def scrub(
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write each table anew: locks it meanwhile, and leaves no byte behind.")
    ] = False,
    dsn: Dsn = None,
    as_json: Json = False,
) -> None:
    """After a purge: vacuum all tables and build their indexes of words and keys anew, while reads and writes go on.

    The database must be named as its owner, and not through a pooler. Its log and its backups keep what they hold.
    """
    from shared.schema.scrub import scrub as scrub_database

    tables = ran(scrub_database(named(dsn), rewrite=rewrite, progress=note))
    if as_json:
        say_json({"tables": tables, "rewritten": rewrite})
    else:
        say(f"{tables} tables are {'written anew' if rewrite else 'vacuumed, and their indexes built anew'}.")
