"""The `palimpsest` command: its subcommands, and what they end with."""

import logging
import os
import sys
from typing import NoReturn

# Before gRPC is loaded: it would say at each start of a program, such as git, that it cannot follow a fork.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

import typer

from cli.commands.as_of import as_of
from cli.commands.audit import audit
from cli.commands.authors import authors
from cli.commands.calibrate import calibrate
from cli.commands.capture import capture
from cli.commands.conformance import conformance
from cli.commands.context import context
from cli.commands.correct import correct
from cli.commands.curate import curate
from cli.commands.doctor import doctor
from cli.commands.duplicates import duplicates
from cli.commands.explain import explain
from cli.commands.extraction import extraction
from cli.commands.facts import facts
from cli.commands.health import health
from cli.commands.history import history
from cli.commands.ingest import ingest
from cli.commands.init_db import init_db
from cli.commands.neighbours import neighbours
from cli.commands.obsolete import obsolete
from cli.commands.packs import packs
from cli.commands.purge import purge, receipt, redact
from cli.commands.reconcile import reconcile
from cli.commands.record import record
from cli.commands.record_git import record_git
from cli.commands.reembed import reembed
from cli.commands.retract import retract
from cli.commands.rollback_source import rollback_source
from cli.commands.scrub import scrub
from cli.commands.search import search
from cli.commands.status import status
from cli.commands.token import token
from cli.commands.trace import trace
from cli.commands.traverse import traverse
from cli.commands.up import up
from cli.commands.vector_index import vector_index
from cli.commands.verify import verify
from cli.commands.watch import watch
from cli.credentials import CREDENTIALS_HELP
from cli.demo import demo
from cli.failure import EXIT_CODES_HELP, Failure
from cli.output import note

_INTERRUPTED = 130

app = typer.Typer(
    name="palimpsest",
    help="A memory for AI agents and the services around them.",
    epilog=f"{CREDENTIALS_HELP}\n\n{EXIT_CODES_HELP}",
    no_args_is_help=True,
    add_completion=False,
    # Local variables of a traceback hold content; what users get is one line.
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("up", epilog=EXIT_CODES_HELP)(up)
app.command("demo", epilog=EXIT_CODES_HELP)(demo)
app.command("init-db", epilog=EXIT_CODES_HELP)(init_db)
app.command("vector-index", epilog=EXIT_CODES_HELP)(vector_index)
app.command("record", epilog=EXIT_CODES_HELP)(record)
app.command("record-git", epilog=EXIT_CODES_HELP)(record_git)
app.command("ingest", epilog=EXIT_CODES_HELP)(ingest)
app.command("capture", epilog=EXIT_CODES_HELP)(capture)
app.command("search", epilog=EXIT_CODES_HELP)(search)
app.command("context", epilog=EXIT_CODES_HELP)(context)
app.command("explain", epilog=EXIT_CODES_HELP)(explain)
app.command("trace", epilog=EXIT_CODES_HELP)(trace)
app.command("verify", epilog=EXIT_CODES_HELP)(verify)
app.command("neighbours", epilog=EXIT_CODES_HELP)(neighbours)
app.command("traverse", epilog=EXIT_CODES_HELP)(traverse)
app.command("facts", epilog=EXIT_CODES_HELP)(facts)
app.command("as-of", epilog=EXIT_CODES_HELP)(as_of)
app.command("history", epilog=EXIT_CODES_HELP)(history)
app.command("correct", epilog=EXIT_CODES_HELP)(correct)
app.command("retract", epilog=EXIT_CODES_HELP)(retract)
app.command("obsolete", epilog=EXIT_CODES_HELP)(obsolete)
app.command("reconcile", epilog=EXIT_CODES_HELP)(reconcile)
app.command("redact", epilog=EXIT_CODES_HELP)(redact)
app.command("purge", epilog=EXIT_CODES_HELP)(purge)
app.command("rollback-source", epilog=EXIT_CODES_HELP)(rollback_source)
app.command("receipt", epilog=EXIT_CODES_HELP)(receipt)
app.command("scrub", epilog=EXIT_CODES_HELP)(scrub)
app.command("curate", epilog=EXIT_CODES_HELP)(curate)
app.command("watch", epilog=EXIT_CODES_HELP)(watch)
app.command("calibrate", epilog=EXIT_CODES_HELP)(calibrate)
app.command("health", epilog=EXIT_CODES_HELP)(health)
app.command("doctor", epilog=EXIT_CODES_HELP)(doctor)
app.command("conformance", epilog=EXIT_CODES_HELP)(conformance)
app.command("token", epilog=EXIT_CODES_HELP)(token)
app.command("status", epilog=EXIT_CODES_HELP)(status)
app.add_typer(audit, name="audit", epilog=EXIT_CODES_HELP)
app.add_typer(duplicates, name="duplicates", epilog=EXIT_CODES_HELP)
app.add_typer(authors, name="authors", epilog=EXIT_CODES_HELP)
app.add_typer(extraction, name="extraction", epilog=EXIT_CODES_HELP)
app.add_typer(packs, name="packs", epilog=EXIT_CODES_HELP)
app.add_typer(reembed, name="reembed", epilog=EXIT_CODES_HELP)


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    # Without a handler Python writes warnings between the lines meant for the user.
    logging.getLogger().addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape, rather than the user a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except Failure as failure:
        note(f"error: {failure}", "red")
        sys.exit(failure.code)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    sys.exit(0)


if __name__ == "__main__":
    main()
