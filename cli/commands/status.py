"""`palimpsest status`: whether the system is well, and what is in a namespace."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import grpc
import typer
from google.protobuf.message import Message
from palimpsest.client import Client
from palimpsest.v1.embedder_service_pb2 import GetModelRequest
from palimpsest.v1.reader_service_pb2 import GetNamespaceStatisticsRequest
from palimpsest.v1.writer_service_pb2 import GetEmbeddingStatusRequest

from cli.commands.health import mismatch
from cli.credentials import client_tls
from cli.failure import ExitCode, failure_of
from cli.health import health_of
from cli.options import Connection, Data, Json, Namespace, Target, connected
from cli.output import as_json as fields_of
from cli.output import say, say_json, say_table

_TIMEOUT_S = 5.0
_SERVING = "SERVING"


def status(namespace: Namespace = "default", target: Target = None, data: Data = None, as_json: Json = False) -> None:
    """Show where the services are, whether they serve, the embedding model, and what a namespace holds."""
    with connected(target, data) as connection:
        report = _report(connection, namespace)
    if as_json:
        say_json(report)
    else:
        _show(report, namespace)
    if any(service["health"] != _SERVING for service in report["services"].values()):
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _report(connection: Connection, namespace: str) -> dict[str, Any]:
    client = connection.client
    services = {
        name: {"address": address, "health": health_of(address, _TIMEOUT_S, tls=client_tls())}
        for name, address in asdict(connection.endpoints).items()
        if address
    }
    return {"services": services} | {
        name: _asked(call) for name, call in _questions(client, namespace, services.keys()).items()
    }


def _questions(client: Client, namespace: str, services: Any) -> dict[str, Callable[[], Message]]:
    statistics = GetNamespaceStatisticsRequest(namespace=namespace)
    asked: dict[str, tuple[str, Callable[[], Message]]] = {
        "model": ("embedder", lambda: client.embedder.GetModel(GetModelRequest(), timeout=_TIMEOUT_S)),
        "statistics": ("reader", lambda: client.reader.GetNamespaceStatistics(statistics, timeout=_TIMEOUT_S)),
        "embedding": (
            "writer",
            lambda: client.writer.GetEmbeddingStatus(GetEmbeddingStatusRequest(), timeout=_TIMEOUT_S),
        ),
    }
    return {name: call for name, (service, call) in asked.items() if service in services}


def _asked(call: Callable[[], Message]) -> dict[str, Any]:
    """The answer, or why there is none: the rest of the report is worth showing."""
    try:
        return fields_of(call())
    except grpc.RpcError as error:
        return {"error": str(failure_of(error))}


def _show(report: dict[str, Any], namespace: str) -> None:
    say_table(
        ("service", "health", "address"),
        ((name, service["health"], service["address"]) for name, service in report["services"].items()),
    )
    for title, part in (("Model", "model"), (f"Namespace {namespace}", "statistics"), ("Embedding", "embedding")):
        if part in report:
            say("")
            say(title, "bold")
            _show_fields(report[part])
    if report.get("embedding", {}).get("mismatch"):
        say(f"  {_mismatch(report['embedding'])}", "yellow")


def _mismatch(embedding: dict[str, Any]) -> str:
    active = next(space["fingerprint"] for space in embedding["spaces"] if space["state"].endswith("_ACTIVE"))
    return f"Searches go by words: {mismatch(active, embedding['served_fingerprints'])}"


def _show_fields(fields: dict[str, Any], indent: str = "  ") -> None:
    for name, value in fields.items():
        if isinstance(value, dict):
            _show_fields(value, indent)
        elif isinstance(value, list):
            for item in value:
                inner = ", ".join(f"{key} {each}" for key, each in item.items()) if isinstance(item, dict) else item
                say(f"{indent}{name}: {inner}")
        elif value != "":
            say(f"{indent}{name}: {value}")
