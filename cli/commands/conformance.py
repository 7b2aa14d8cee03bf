"""`palimpsest conformance`: the rules of the memory, tried on a running deployment."""

import os
import secrets
from dataclasses import asdict
from typing import Annotated

import grpc
import typer
from palimpsest.client import Client
from palimpsest.connection import Connection as Channels
from palimpsest.token_file import TokenFile

from cli.conformance.cleaning import Cleaned, cleaned, is_fresh
from cli.conformance.outcome import Outcome, Verdict
from cli.conformance.printing import say_cleaned, say_outcome, say_outcomes, summary
from cli.conformance.probe import Probe
from cli.conformance.rules import RULES
from cli.conformance.running import outcomes
from cli.credentials import TOKEN_FILE_VARIABLE, TOKEN_VARIABLE, client_tls, credentials
from cli.failure import ExitCode, Failure
from cli.options import Connection, Data, Json, Target, connected
from cli.output import note, progress, say_json

OUTSIDER_VARIABLE = "PALIMPSEST_OUTSIDER_TOKEN"

Outsider = Annotated[
    str,
    typer.Option(
        "--outsider-token",
        envvar=OUTSIDER_VARIABLE,
        help="Token of a second caller, with neither labels nor clearances, who may read and write in the run's "
        "namespaces; better in the variable than among the arguments.",
        show_default=False,
    ),
]


def conformance(
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Begin the names of the run's namespaces so.  [default: made up]")
    ] = "",
    outsider_token: Outsider = "",
    rule: Annotated[list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.")] = None,
    patience_s: Annotated[float, typer.Option("--patience", min=1, help="Seconds to wait for vectors.")] = 60,
    keep: Annotated[bool, typer.Option("--keep", help="Leave what the run wrote, to look into.")] = False,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Try the rules of the memory on a running deployment, and print how each one stands.

    Works in namespaces of its own, purges them at the end, and touches no others. What the token may not do, or what no
    answer shows, is NOT OBSERVABLE, with the reason. Ends with 1 where a rule is broken, with 3 where none
    could be seen.
    """
    unknown = sorted(set(rule or ()) - set(RULES))
    if unknown:
        raise Failure(f"--rule: there is no rule {unknown[0]!r}", ExitCode.USAGE)
    with connected(target, data) as connection:
        probe = _probe(connection, namespace or f"conformance-{secrets.token_hex(4)}", patience_s)
        if not is_fresh(probe):
            raise Failure(f"--namespace: there is something in {probe.namespace} already", ExitCode.USAGE)
        try:
            if outsider_token:
                probe.outsider = _outsider(connection, outsider_token)
            told = _run(probe, rule or (), as_json=as_json)
        finally:
            done = None if keep else cleaned(probe)
            if probe.outsider:
                probe.outsider.close()
    _say_end(probe, told, done, as_json=as_json)
    verdicts = {one.verdict for one in told}
    if Verdict.FAIL in verdicts:
        raise typer.Exit(ExitCode.FAILED)
    if Verdict.PASS not in verdicts:
        raise typer.Exit(ExitCode.NOTHING)


def _run(probe: Probe, rules: "list[str] | tuple[str, ...]", *, as_json: bool) -> list[Outcome]:
    told = []
    with progress("trying", None) as bar:
        for one in outcomes(probe, rules):
            told.append(one)
            bar.advance(bar.task_ids[0])
            if as_json:
                say_outcome(one)
    return told


def _say_end(probe: Probe, told: list[Outcome], done: Cleaned | None, *, as_json: bool) -> None:
    if as_json:
        say_json({"namespace": probe.namespace, "summary": summary(told), "cleaned": asdict(done) if done else None})
        return
    say_outcomes(told, probe.namespace)
    if done:
        say_cleaned(done)
    else:
        note(f"what the run wrote stays in {probe.namespace} and the namespaces that begin with it")


def _probe(connection: Connection, namespace: str, patience_s: float) -> Probe:
    channels = Channels(client_tls())
    token = os.environ.get(TOKEN_VARIABLE) or ""
    if file := os.environ.get(TOKEN_FILE_VARIABLE):
        token = TokenFile(file)()
    return Probe(
        client=connection.client,
        endpoints=connection.endpoints,
        namespace=namespace,
        channel=lambda address: channels.open(grpc, address),
        authorization=(("authorization", f"Bearer {token}"),) if token else (),
        patience_s=patience_s,
    )


def _outsider(connection: Connection, token: str) -> Client:
    given = {**credentials(), "token": token, "token_file": None}
    endpoints = connection.endpoints
    return Client(writer=endpoints.writer, reader=endpoints.reader, embedder=endpoints.embedder, **given)
