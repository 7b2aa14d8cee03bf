"""`palimpsest audit`: what was done that people may have to answer for, and whether anybody tampered with that."""

import re
from typing import Annotated, Any

import typer
from palimpsest.audit import ChainCheck, check_chain
from palimpsest.v1.governance_pb2 import AuditEvent
from palimpsest.v1.reader_service_pb2 import ListAuditEventsRequest, ListNamespacesRequest
from palimpsest.v1.writer_service_pb2 import AppendAuditRequest

from cli.failure import EXIT_CODES_HELP, ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, one_line, say, say_json, say_table, when
from cli.pages import items_of
from shared.audit import SYSTEM_NAMESPACE

audit = typer.Typer(help="List, verify and append events of the audit.", no_args_is_help=True)

_EVERYTHING = 2**63
_HEAD = re.compile(r"(\d+):([0-9a-f]{64})")


@audit.command("list", epilog=EXIT_CODES_HELP)
def list_events(
    namespace: Namespace = "default",
    trace: Annotated[str, typer.Option("--trace", help="Only events of this trace.")] = "",
    action: Annotated[str, typer.Option("--action", help="Only this action, e.g. purge.")] = "",
    after: Annotated[int, typer.Option("--after", min=0, help="Only events with a greater number.")] = 0,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most events that are shown.")] = 50,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List events by rising number."""
    request = ListAuditEventsRequest(namespace=namespace, trace_id=trace, action=action, after_sequence=after)
    with connected(target, data) as connection:
        found = list(items_of(connection.client.reader.ListAuditEvents, request, "events", limit))
    if as_json:
        for event in found:
            say_json(event)
    elif found:
        say_table(("#", "when", "who", "action", "target", "details"), map(_row, found))
    if not found:
        raise typer.Exit(ExitCode.NOTHING)


@audit.command("verify", epilog=EXIT_CODES_HELP)
def verify(
    namespace: Namespace = "default",
    everywhere: Annotated[
        bool, typer.Option("--all", help="All namespaces that hold an observation, and that of grants.")
    ] = False,
    head: Annotated[
        str | None, typer.Option("--head", metavar="NUMBER:HASH", help="A head from before, which must be met.")
    ] = None,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Walk the chain of hashes and say where it breaks first, or what callers told is gone without a purge that says
    so. Exit code 1 where it does.

    Keep the head that is printed where nobody who can change the database can: with --head it shows later whether
    events at the end are gone, or all were written anew. Changes of grants are in the namespace palimpsest.system.
    Where personal data is protected, the caller needs the pii clearance: what is masked does not fit its hash.
    """
    if head is not None and everywhere:
        raise Failure("--head: is of one namespace", ExitCode.USAGE)
    expected, is_whole = _head(head), True
    with connected(target, data) as connection:
        reader = connection.client.reader
        held = items_of(reader.ListNamespaces, ListNamespacesRequest(), "namespaces", _EVERYTHING)
        # Changes of grants are no observations: the namespace that they are kept in need not hold one.
        for name in sorted({*held, SYSTEM_NAMESPACE}) if everywhere else [namespace]:
            request = ListAuditEventsRequest(namespace=name)
            events = items_of(reader.ListAuditEvents, request, "events", _EVERYTHING)
            check = check_chain(name, events, expected)
            _say_check(name, check, as_json)
            is_whole = is_whole and not check.fault
    if not is_whole:
        raise typer.Exit(ExitCode.FAILED)


@audit.command("append", epilog=EXIT_CODES_HELP)
def append(
    action: Annotated[str, typer.Argument(help="What was done, e.g. export.")],
    namespace: Namespace = "default",
    to: Annotated[str, typer.Option("--on", metavar="ID", help="What it was done to: a stable id.")] = "",
    details: Annotated[str, typer.Option("--details", metavar="JSON", help="Particulars, one JSON object.")] = "",
    trace: Annotated[str, typer.Option("--trace", help="Trace of the task or run.")] = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Append an event. That it was appended is kept for ever; what it tells until a purge takes it, which finds it by
    keys, ids and names: leave other content out."""
    request = AppendAuditRequest(namespace=namespace, action=action, target=to, details=details, trace_id=trace)
    with connected(target, data) as connection:
        event = connection.client.writer.AppendAudit(request).event
    if as_json:
        say_json(event)
    else:
        say(f"{event.sequence}:{event.hash}")


def _head(text: str | None) -> tuple[int, str] | None:
    if text is None:
        return None
    found = _HEAD.fullmatch(text)
    if found is None:
        raise Failure("--head: must be a number, a colon and 64 hex digits, as 'audit verify' prints", ExitCode.USAGE)
    return int(found[1]), found[2]


def _say_check(namespace: str, check: ChainCheck, as_json: bool) -> None:
    sequence, last_hash = check.head
    head = f"{sequence}:{last_hash}" if sequence else ""
    if as_json:
        fields: dict[str, Any] = {"namespace": namespace, "events": sequence, "head": head, "is_whole": not check.fault}
        say_json(fields | ({"fault": check.fault, "fault_at": check.fault_at} if check.fault else {}))
    elif check.fault:
        note(f"{namespace}: event {check.fault_at}: {check.fault}", "red")
    else:
        say(f"{namespace}: {check.events} events, whole{f'; head {head}' if head else ''}")


def _row(event: AuditEvent) -> tuple[str, ...]:
    details = one_line(event.details, 200)
    return (str(event.sequence), when(event.recorded_at), event.actor, event.action, event.target, details)
