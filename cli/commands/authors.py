"""`palimpsest authors`: whose captured messages become evidence."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import typer
from palimpsest.client import Client
from palimpsest.v1.namespace_pb2 import Namespace as NamespaceMessage
from palimpsest.v1.reader_service_pb2 import GetNamespaceRequest, GetNamespaceResponse
from palimpsest.v1.writer_service_pb2 import UpdateNamespaceSettingsRequest, UpdateNamespaceSettingsResponse

from cli.commands.obsolete import Reason
from cli.failure import EXIT_CODES_HELP, ExitCode
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, say, say_json

authors = typer.Typer(help="Say whose captured messages become evidence of what they said.", no_args_is_help=True)

Keys = Annotated[list[str], typer.Argument(metavar="AUTHOR...", help="Keys of authors, e.g. person:alice.")]


@authors.command("list", epilog=EXIT_CODES_HELP)
def list_authors(
    namespace: Namespace = "default", target: Target = None, data: Data = None, as_json: Json = False
) -> None:
    """List the authors whose messages become evidence."""
    with connected(target, data) as connection:
        held = _namespace(connection.client, namespace)
    if as_json:
        say_json(held)
    for author in () if as_json else held.settings.capture_authors:
        say(author)
    if not held.settings.capture_authors:
        note("No authors: nobody's messages become evidence.")
        raise typer.Exit(ExitCode.NOTHING)


@authors.command("allow", epilog=EXIT_CODES_HELP)
def allow(
    keys: Keys,
    namespace: Namespace = "default",
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Let messages of authors become evidence from now on. Those that are stored stay as they are."""
    with connected(target, data) as connection:
        _change(connection.client, namespace, lambda allowed: dict.fromkeys([*allowed, *keys]), reason, as_json=as_json)


@authors.command("forbid", epilog=EXIT_CODES_HELP)
def forbid(
    keys: Keys,
    namespace: Namespace = "default",
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Let messages of authors become nobody's evidence from now on. Those that are stored stay as they are."""
    with connected(target, data) as connection:
        _change(
            connection.client,
            namespace,
            lambda allowed: [each for each in allowed if each not in keys],
            reason,
            as_json=as_json,
        )


def _namespace(client: Client, namespace: str) -> NamespaceMessage:
    response: GetNamespaceResponse = client.reader.GetNamespace(GetNamespaceRequest(namespace=namespace))
    return response.namespace


def _change(
    client: Client,
    namespace: str,
    wanted: Callable[[Sequence[str]], Iterable[str]],
    reason: str,
    *,
    as_json: bool,
) -> None:
    """Makes the authors those that are wanted of the namespace's, and tells them. The other settings stay."""
    held = _namespace(client, namespace)
    version, authors = held.settings_version, list(wanted(held.settings.capture_authors))
    del held.settings.capture_authors[:]
    held.settings.capture_authors.extend(authors)
    request = UpdateNamespaceSettingsRequest(
        namespace=held.namespace, settings=held.settings, expected_version=version, reason=reason or "capture authors"
    )
    response: UpdateNamespaceSettingsResponse = client.writer.UpdateNamespaceSettings(request)
    changed = response.namespace
    if as_json:
        say_json(changed)
    else:
        allowed = ", ".join(changed.settings.capture_authors) or "nobody"
        say(f"Evidence in {changed.namespace}: {allowed} (settings {changed.settings_version})")
