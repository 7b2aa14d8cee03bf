"""What checks expect of answers."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

import grpc
from palimpsest.errors import ErrorDetails, details_of

from cli.conformance.outcome import Broken


def expect(holds: object, otherwise: str) -> None:
    """Raises Broken with `otherwise` unless `holds`."""
    if not holds:
        raise Broken(otherwise)


def same(found: object, wanted: object, what: str) -> None:
    """Raises Broken unless the two are equal."""
    if found != wanted:
        raise Broken(f"{what}: {_short(wanted)} was expected, {_short(found)} came")


def refused(call: Callable[[], object], code: grpc.StatusCode, reason: str, *paths: str) -> ErrorDetails:
    """The details of the error that a call ends with; Broken unless it has this code, reason and all paths."""
    try:
        call()
    except grpc.RpcError as error:
        details = details_of(error)
        if denied(error) and code is not grpc.StatusCode.PERMISSION_DENIED:
            raise
        same((error.code().name, details.reason), (code.name, reason), "the refusal")
        found = {violation.field for violation in details.violations}
        expect(set(paths) <= found, f"the refusal names {sorted(found)}, not {sorted(paths)}")
        return details
    raise Broken(f"answered, where {code.name} ({reason}) was expected")


def invalid(call: Callable[[], object], *paths: str, reason: str = "INVALID_FIELD") -> ErrorDetails:
    """As `refused`, with INVALID_ARGUMENT and the paths of the wrong fields."""
    return refused(call, grpc.StatusCode.INVALID_ARGUMENT, reason, *paths)


def missing(call: Callable[[], object]) -> ErrorDetails:
    """As `refused`, with NOT_FOUND."""
    return refused(call, grpc.StatusCode.NOT_FOUND, "NOT_FOUND")


def denied(error: grpc.RpcError) -> bool:
    """Whether the caller's grants do not reach so far."""
    return error.code() is grpc.StatusCode.PERMISSION_DENIED and details_of(error).reason == "PERMISSION_DENIED"


def at_once(calls: Iterable[Callable[[], Any]]) -> list[Any]:
    """The answers of calls made at the same time, each from a thread. Raises what the first failing one raised."""
    made = list(calls)
    answers: list[Any] = [None] * len(made)
    failures: list[Exception] = []
    start = threading.Barrier(len(made))

    def run(place: int, call: Callable[[], Any]) -> None:
        start.wait()
        try:
            answers[place] = call()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(made)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return answers


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 160 else text[:159] + "…"
