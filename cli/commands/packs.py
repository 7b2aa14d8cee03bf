"""`palimpsest packs`: domain packs: what kinds of things a domain has, and how they are related."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToJson
from palimpsest.v1.namespace_pb2 import DomainPack, PackEnablement
from palimpsest.v1.reader_service_pb2 import GetNamespaceRequest, GetPackRequest, ListPacksRequest
from palimpsest.v1.writer_service_pb2 import RegisterPackRequest, UpdateNamespaceSettingsRequest

from cli.commands.obsolete import Reason
from cli.failure import EXIT_CODES_HELP, ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import say, say_json, say_table, say_verbatim
from cli.pages import items_of
from cli.sources.observation_json import RefusedLine, parse_message

packs = typer.Typer(help="List, show, register and enable domain packs.", no_args_is_help=True)

_MOST = 10_000


@packs.command("list", epilog=EXIT_CODES_HELP)
def list_packs(
    namespace: Namespace = "default", target: Target = None, data: Data = None, as_json: Json = False
) -> None:
    """List the packs of a namespace, built-in ones included; * marks those that act in it."""
    with connected(target, data) as connection:
        reader = connection.client.reader
        found = list(items_of(reader.ListPacks, ListPacksRequest(namespace=namespace), "packs", _MOST))
        settings = reader.GetNamespace(GetNamespaceRequest(namespace=namespace)).namespace.settings
    enabled = {(each.pack, each.version) for each in settings.packs}
    if as_json:
        for pack in found:
            say_json(pack)
    else:
        rows = (_row(pack, is_enabled=(pack.pack, pack.version) in enabled) for pack in found)
        say_table(("", "pack", "version", "kinds", "relations", "description"), rows)


@packs.command("show", epilog=EXIT_CODES_HELP)
def show(
    pack: Annotated[str, typer.Argument(help="Its name.")],
    namespace: Namespace = "default",
    version: Annotated[int, typer.Option("--version", min=0, help="Its version; 0: the latest.")] = 0,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show a pack as JSON, in the form that 'packs register' takes."""
    with connected(target, data) as connection:
        request = GetPackRequest(namespace=namespace, pack=pack, version=version)
        found = connection.client.reader.GetPack(request).pack
    if as_json:
        say_json(found)
    else:
        say_verbatim(MessageToJson(found, preserving_proto_field_name=True, ensure_ascii=False))


@packs.command("register", epilog=EXIT_CODES_HELP)
def register(
    file: Annotated[str, typer.Argument(help="File with the pack as one JSON object; - is standard input.")],
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Register a version of a pack. The same version again changes nothing; with other content it is refused."""
    try:
        pack = parse_message(_content(file), DomainPack)
    except RefusedLine as refusal:
        raise Failure(f"{file}: {refusal}", ExitCode.USAGE) from None
    with connected(target, data) as connection:
        response = connection.client.writer.RegisterPack(RegisterPackRequest(namespace=namespace, pack=pack))
    if as_json:
        say_json(response)
    else:
        say(f"{pack.pack} {pack.version}: {'known before' if response.duplicate else 'registered'}")


@packs.command("enable", epilog=EXIT_CODES_HELP)
def enable(
    pack: Annotated[str, typer.Argument(help="Its name.")],
    namespace: Namespace = "default",
    version: Annotated[int, typer.Option("--version", min=0, help="Its version; 0: the latest.")] = 0,
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Let a pack act in a namespace, in place of another version of it. The other settings stay."""
    with connected(target, data) as connection:
        reader = connection.client.reader
        wanted = version
        if not wanted:
            request = GetPackRequest(namespace=namespace, pack=pack)
            wanted = reader.GetPack(request).pack.version
        held = reader.GetNamespace(GetNamespaceRequest(namespace=namespace)).namespace
        others = [each for each in held.settings.packs if each.pack != pack]
        del held.settings.packs[:]
        held.settings.packs.extend([*others, PackEnablement(pack=pack, version=wanted)])
        response = connection.client.writer.UpdateNamespaceSettings(
            UpdateNamespaceSettingsRequest(
                namespace=namespace,
                settings=held.settings,
                expected_version=held.settings_version,
                reason=reason or f"enable {pack} {wanted}",
            )
        )
    if as_json:
        say_json(response.namespace)
    else:
        say(f"{pack} {wanted} acts in {namespace} (settings {response.namespace.settings_version})")


def _content(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", ExitCode.USAGE) from None


def _row(pack: DomainPack, *, is_enabled: bool) -> tuple[str, ...]:
    kinds = ", ".join(kind.kind for kind in pack.kinds)
    relations = ", ".join(relation.relation for relation in pack.relations)
    return ("*" if is_enabled else "", pack.pack, str(pack.version), kinds, relations, pack.description)
