"""`palimpsest authors`: whose captured messages become evidence."""

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
        held = _namespace(connection.client, namespace)
        wanted = list(dict.fromkeys([*held.settings.capture_authors, *keys]))
        _tell(_changed(connection.client, held, wanted, reason), as_json=as_json)


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
        held = _namespace(connection.client, namespace)
        wanted = [author for author in held.settings.capture_authors if author not in keys]
        _tell(_changed(connection.client, held, wanted, reason), as_json=as_json)


def _namespace(client: Client, namespace: str) -> NamespaceMessage:
    response: GetNamespaceResponse = client.reader.GetNamespace(GetNamespaceRequest(namespace=namespace))
    return response.namespace


def _changed(client: Client, held: NamespaceMessage, wanted: list[str], reason: str) -> NamespaceMessage:
    """The namespace with other authors. The other settings stay."""
    version = held.settings_version
    del held.settings.capture_authors[:]
    held.settings.capture_authors.extend(wanted)
    request = UpdateNamespaceSettingsRequest(
        namespace=held.namespace, settings=held.settings, expected_version=version, reason=reason or "capture authors"
    )
    response: UpdateNamespaceSettingsResponse = client.writer.UpdateNamespaceSettings(request)
    return response.namespace


def _tell(namespace: NamespaceMessage, *, as_json: bool) -> None:
    if as_json:
        say_json(namespace)
    else:
        allowed = ", ".join(namespace.settings.capture_authors) or "nobody"
        say(f"Evidence in {namespace.namespace}: {allowed} (settings {namespace.settings_version})")
