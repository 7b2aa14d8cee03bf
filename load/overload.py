"""Far more calls than the system can answer: how it refuses, how it serves what it lets in, how it recovers."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import grpc
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from palimpsest.v1.reader_service_pb2 import SearchRequest

from load.gates import Probe
from load.ghz import OK, Report
from load.measuring import Bench
from load.mixed import open_loop

PROFILE = "search"
METHOD = "palimpsest.v1.ReaderService/Search"
_PROBERS = 3
_PROBE_PAUSE_S = 0.02
_PROBE_TIMEOUT_S = 20.0
_CALM_CALLS = 5
_GIVE_UP_S = 60.0


@dataclass(frozen=True)
class Overload:
    """What was seen."""

    report: Report
    probes: Sequence[Probe]
    sent: Counter[str]
    """How all calls ended, those of ghz and ours."""
    counted: Counter[str]
    """What the servers counted, by code."""
    recovery_s: float
    """From the last call's end until calls took no longer than they should; infinite: they never did."""


def overload(bench: Bench, rate: int, seconds: float, calm_s: float) -> Overload:
    """Sends `rate` searches a second, whatever is answered, and probes meanwhile.

    `calm_s` is the latency that calls are to come back to.
    """
    requests = bench.requests(PROFILE, "overload")
    since = bench.counting(METHOD)
    run = bench.ghz.begin(PROFILE, requests, **open_loop(rate, seconds), connections=8, concurrency=8)
    with _Probing(bench) as probing:
        report = run.report()
    sent = report.statuses + Counter(probe.status for probe in probing.probes)
    counted = since(sent)
    return Overload(report, probing.probes, sent, counted, _recovery_s(bench, calm_s))


class _Probing:
    """Calls the reader from a few threads as long as the context lasts."""

    def __init__(self, bench: Bench) -> None:
        self.probes: list[Probe] = []
        self._bench = bench
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._probe, args=(place,)) for place in range(_PROBERS)]

    def __enter__(self) -> "_Probing":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _probe(self, place: int) -> None:
        number = 0
        while not self._ended.is_set():
            self.probes.append(probe(self._bench, f"probe {place} {number}"))
            number += 1
            time.sleep(_PROBE_PAUSE_S)


def probe(bench: Bench, mark: str) -> Probe:
    """One search of our own."""
    request = ParseDict({"namespace": bench.scene.read[0], "query": f"who is responsible, {mark}"}, SearchRequest())
    began = time.monotonic()
    try:
        bench.stubs.reader.Search(request, timeout=_PROBE_TIMEOUT_S, metadata=bench.stubs.metadata)
    except grpc.RpcError as error:
        return Probe(_as_ghz(error.code()), time.monotonic() - began, retry_delay_s(error))
    return Probe(OK, time.monotonic() - began, None)


def retry_delay_s(error: grpc.RpcError) -> float | None:
    """What the RetryInfo of an error says; None where it has none."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            return float(info.retry_delay.ToTimedelta().total_seconds())
    return None


def _recovery_s(bench: Bench, calm_s: float) -> float:
    """Until the median of a few calls, one after the other, is calm, with all of them answered."""
    began, number = time.monotonic(), 0
    while (begun := time.monotonic() - began) < _GIVE_UP_S:
        probes = [probe(bench, f"after {number} {each}") for each in range(_CALM_CALLS)]
        if all(one.status == OK for one in probes) and median(one.latency_s for one in probes) <= calm_s:
            return begun
        number += 1
    return float("inf")


def _as_ghz(code: grpc.StatusCode) -> str:
    """The name of a status as ghz writes it."""
    return OK if code is grpc.StatusCode.OK else "".join(part.title() for part in code.name.split("_"))
