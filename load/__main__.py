"""Loads a system with ghz and judges it; ends with 1 where a gate fails.

usage: python -m load [--seconds N] [--rounds N] [--seed N] [--scale X] [--calls N] [--out DIR]
                      [--target HOST:PORT | --writer HOST:PORT --reader HOST:PORT --embedder HOST:PORT]
                      [--metrics URL,URL] [--ca FILE] [--certificate FILE --key FILE]

Without a target the embedded system is started on a fresh data folder, as `palimpsest up` starts it. A bearer token is
read from PALIMPSEST_LOAD_TOKEN. See load/README.md.
"""

import argparse
import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import grpc

from load import gates, judging, report
from load.counters import require_metrics
from load.deployment import Credentials, Deployment, connected, embedded
from load.fill import fill, wait_for_vectors
from load.gates import Gate
from load.ghz import Ghz
from load.measures import latencies
from load.measuring import ITEMS, Bench, Measured, accepted, expectations, measure, sent_again, stored
from load.mixed import mix, rates, run_mixed
from load.overload import overload
from load.protoset import write_protoset

_TOKEN = "PALIMPSEST_LOAD_TOKEN"
_LIMIT = "PALIMPSEST_MAX_CONCURRENT_CALLS"
_MIXED_SLICES, _OVERLOAD_SLICES = 4, 3
# After an overload a single call is calm when it takes no longer than a few did before it, beside each other.
_CALM = 2.0
# What is embedded still, longer than that, is a part of what the overload meets.
_CALM_S = 20.0


def options() -> argparse.ArgumentParser:
    """What every kind of load is told."""
    parser = argparse.ArgumentParser(prog="python -m load", description="Loads a system with ghz and judges it.")
    parser.add_argument("--target", default="", help="WRITER[,READER,EMBEDDER] as host:port; empty: start one")
    for service in ("writer", "reader", "embedder"):
        parser.add_argument(f"--{service}", default="", metavar="HOST:PORT")
    parser.add_argument("--metrics", default="", metavar="URL,URL", help="Prometheus metrics of all processes")
    parser.add_argument("--ca", type=Path, help="PEM that signed the servers' certificates; without: plaintext")
    parser.add_argument("--certificate", type=Path, help="PEM of the client, for mTLS")
    parser.add_argument("--key", type=Path, help="PEM of its key")
    parser.add_argument("--calls", type=int, help=f"{_LIMIT} of the embedded system, instead of its default")
    parser.add_argument("--seed", type=int, default=1, help="what is stored and asked follows from it")
    parser.add_argument("--scale", type=float, default=1.0, help="of the size of the namespaces that are filled")
    parser.add_argument("--out", type=Path, default=Path("build/load"), help="folder of the report")
    return parser


def deployed(arguments: argparse.Namespace) -> contextlib.AbstractContextManager[Deployment]:
    """The system that the options name, else an embedded one. Raises SystemExit for options that do not fit."""
    named = [arguments.writer, arguments.reader, arguments.embedder]
    if arguments.target:
        parts = arguments.target.split(",")
        named = parts * 3 if len(parts) == 1 else parts
    if not any(named):
        settings = {_LIMIT: str(arguments.calls)} if arguments.calls else {}
        return embedded(settings, log=arguments.out / "system.log")
    if len(named) != 3 or not all(named):
        raise SystemExit("--target takes one address or three; --writer, --reader and --embedder belong together")
    for file in filter(None, (arguments.ca, arguments.certificate, arguments.key)):
        if not file.is_file():
            raise SystemExit(f"there is no file {file}")
    credentials = Credentials(arguments.ca, arguments.certificate, arguments.key, os.environ.get(_TOKEN, ""))
    metrics = tuple(filter(None, arguments.metrics.split(",")))
    require_metrics(metrics)
    writer, reader, embedder = named
    return contextlib.nullcontext(Deployment(writer, reader, embedder, metrics, credentials))


@contextlib.contextmanager
def benched(arguments: argparse.Namespace, slice_s: float) -> Iterator[Bench]:
    """A filled system with ghz on it. Raises SystemExit where it cannot be reached or filled."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="palimpsest-load-")))
        say("starting")
        deployment = stack.enter_context(deployed(arguments))
        stubs = stack.enter_context(connected(deployment))
        ghz = Ghz(deployment, write_protoset(folder / "contract.protoset"), folder)
        say("filling")
        try:
            scene = fill(stubs, arguments.seed, arguments.scale)
        except grpc.RpcError as error:
            raise SystemExit(f"the deployment cannot be filled: {error.code().name}: {error.details()}") from None
        run = f"{arguments.seed}-{time.time_ns() // 1_000_000:x}"
        yield Bench(deployment, stubs, ghz, scene, arguments.seed, run, slice_s)


def say(what: str) -> None:
    """Tells what is done now."""
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def main() -> int:
    """Runs all profiles, the mixed one and an overload; writes the report."""
    parser = options()
    parser.add_argument("--seconds", type=float, default=2.0, help="of one slice of a profile")
    parser.add_argument("--rounds", type=int, default=3, help="slices of each profile, in turns with its yardstick")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.seconds <= 0:
        parser.error("--rounds and --seconds are above 0")
    with benched(arguments, arguments.seconds) as bench:
        measured, found, figures = _loaded(bench, arguments.rounds)
    settings = {name: getattr(arguments, name) for name in ("seconds", "rounds", "seed", "scale")}
    told = report.summary(measured, found, figures, settings | {"processors": os.cpu_count()})
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "report.json").write_text(json.dumps(told, ensure_ascii=False, indent=2) + "\n")
    (arguments.out / "report.html").write_text(report.page(told, measured))
    print(report.table(told))
    print(f"report: {arguments.out / 'report.html'}, {arguments.out / 'report.json'}")
    return 0 if told["passed"] else 1


def _loaded(bench: Bench, rounds: int) -> tuple[list[Measured], list[Gate], dict[str, Any]]:
    expected, before = expectations(bench.slice_s * rounds), stored(bench)
    measured = measure(bench, expected, rounds, say)
    is_counted = bool(bench.deployment.metrics)
    found = [gate for each in measured for gate in judging.of_profile(each, expected[each.profile], is_counted)]
    found += _rows(bench, measured, before)
    mixed_gates, mixed_figures = _mixed(bench, measured)
    overload_gates, overload_figures = _overloaded(bench, measured)
    figures = {"mixed": mixed_figures, "overload": overload_figures}
    return measured, [*found, *mixed_gates, *overload_gates], figures


def _rows(bench: Bench, measured: Sequence[Measured], before: int) -> Iterator[Gate]:
    """All that was accepted is there, once, and sending it again changes nothing."""
    after = stored(bench)
    yield gates.rows("writes", before, after, accepted(measured))
    say("sending again what was written last")
    again = list(sent_again(bench, measured))
    for one in again:
        yield gates.statuses(f"again {one.profile}", one.statuses)
    sent = sum(len(one.ok_seconds) * ITEMS[one.profile] for one in again)
    yield gates.redelivered("writes", after, stored(bench), sent)


def _mixed(bench: Bench, measured: Sequence[Measured]) -> tuple[list[Gate], dict[str, Any]]:
    mixture, seconds = mix(), bench.slice_s * _MIXED_SLICES
    at = rates(mixture.parts, {each.profile: each.ok_per_second for each in measured}, mixture.share_of_maximum)
    say(f"mixed, calls a second: {at}")
    methods = {each.profile: each.turns[0].profile.method for each in measured}
    since = {name: bench.counting(methods[name]) for name in at if name not in judging.SHARED_METHODS}
    before = stored(bench)
    seen = run_mixed(bench, at, seconds, "mixed")
    counted = {name: read(seen[name].statuses) for name, read in since.items()}
    found = list(judging.of_mixed(seen, counted, measured, judging.limits().mixed_p95))
    written = sum(len(seen[name].ok_seconds) * items for name, items in ITEMS.items() if name in seen)
    found.append(gates.rows("mixed writes", before, stored(bench), written))
    p95 = {name: latencies(each.ok_seconds).p95 for name, each in seen.items()}
    wait_for_vectors(bench.stubs, bench.scene.write, _CALM_S)
    return found, {"rates": at, "p95_s": p95}


def _overloaded(bench: Bench, measured: Sequence[Measured]) -> tuple[list[Gate], dict[str, Any]]:
    limits = judging.limits()
    normal = next(each for each in measured if each.profile == "search")
    before = latencies(normal.ok_seconds)
    rate = max(1, math.ceil(normal.ok_per_second * limits.rate))
    say(f"overload: {rate} searches a second")
    seen = overload(bench, rate, bench.slice_s * _OVERLOAD_SLICES, before.p50 * _CALM)
    figures = {
        "rate": rate,
        "statuses": dict(seen.report.statuses),
        "errors": seen.report.errors,
        "probes": len(seen.probes),
        "accepted_s": asdict(latencies(seen.report.ok_seconds)),
        "recovery_s": seen.recovery_s,
    }
    return list(judging.of_overload(seen, before, limits)), figures


if __name__ == "__main__":
    raise SystemExit(main())
