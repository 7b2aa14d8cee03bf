"""Sends observations in batches and tells what became of each."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

import grpc
from palimpsest.batches import ObservationBatches, Step
from palimpsest.client import Client
from palimpsest.connection import MIB
from palimpsest.errors import details_of
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_OBSERVATION_CONFLICT, ErrorReason
from palimpsest.v1.item_error_pb2 import FieldViolation, ItemError
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.writer_service_pb2 import BatchRecordObservationsRequest, RecordObservationResult

from cli.failure import ExitCode, Failure, describe_item_error, failure_of

# Small enough to see progress, large enough that the round trip does not count.
BATCH_ITEMS = 200
MOST_BYTES = 32 * MIB
CALL_TIMEOUT_S = 120.0
# A full queue asks to wait; how often it may, before the command gives up.
MOST_WAITS = 60
_REFUSALS_OF_ALL = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.NOT_FOUND)


@dataclass(frozen=True)
class Item:
    """An observation to store, and what its user calls it: a line, a commit, a file."""

    label: str
    namespace: str
    observation: Observation


class Fate(Enum):
    """What became of an item."""

    STORED = "stored"
    PARTLY = "partly"
    """Stored; some of its assertions were refused."""
    KNOWN = "duplicate"
    """It was stored before."""
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of one item, in short and as the writer said it."""

    label: str
    fate: Fate
    reason: str = ""
    result: RecordObservationResult | None = None


@dataclass
class Tally:
    """How many items met which fate."""

    counts: dict[Fate, int] = field(default_factory=lambda: dict.fromkeys(Fate, 0))

    def add(self, outcome: Outcome) -> None:
        """Counts an item."""
        self.counts[outcome.fate] += 1

    def exit_code(self) -> ExitCode:
        """PARTIAL where some items were refused, FAILED where all were."""
        refused, all_items = self.counts[Fate.REFUSED], sum(self.counts.values())
        if refused and refused == all_items:
            return ExitCode.FAILED
        return ExitCode.PARTIAL if refused or self.counts[Fate.PARTLY] else ExitCode.OK

    def __str__(self) -> str:
        counts = self.counts
        stored = counts[Fate.STORED] + counts[Fate.PARTLY]
        partly = f" ({counts[Fate.PARTLY]:,} in part)" if counts[Fate.PARTLY] else ""
        return f"{stored:,} stored{partly}, {counts[Fate.KNOWN]:,} known before, {counts[Fate.REFUSED]:,} refused"


class Recorder:
    """Batches by namespace. `conflict_is_known`: of an identity that cannot change, the stored form stands."""

    def __init__(self, client: Client, *, conflict_is_known: bool = False) -> None:
        self._client = client
        self._conflict_is_known = conflict_is_known
        self._batches: dict[str, ObservationBatches] = {}
        self._waiting: dict[str, deque[str]] = {}
        self._done = 0

    def record(self, items: Iterable[Item | Outcome]) -> Iterator[Outcome]:
        """The outcome of each item, as batches come back; outcomes among the items pass through.

        Raises Failure where the writer is gone; what was stored until then stays.
        """
        for item in items:
            if isinstance(item, Outcome):
                yield item
            else:
                yield from self._add(item)
        for namespace, batches in self._batches.items():
            for step in batches.rest():
                yield from self._outcomes(namespace, step)

    def _add(self, item: Item) -> Iterator[Outcome]:
        if item.namespace not in self._batches:
            batches = ObservationBatches(item.namespace, most_bytes=MOST_BYTES, most_items=BATCH_ITEMS)
            self._batches[item.namespace], self._waiting[item.namespace] = batches, deque()
        self._waiting[item.namespace].append(item.label)
        for step in self._batches[item.namespace].add(item.observation):
            yield from self._outcomes(item.namespace, step)

    def _outcomes(self, namespace: str, step: Step) -> Iterator[Outcome]:
        results = [step] if isinstance(step, RecordObservationResult) else self._send(step)
        for place, result in enumerate(results):
            self._done += 1
            label = self._waiting[namespace].popleft()
            yield outcome_of(label, result, f"observations[{place}].", conflict_is_known=self._conflict_is_known)

    def _send(self, request: BatchRecordObservationsRequest) -> list[RecordObservationResult]:
        for _ in range(MOST_WAITS):
            try:
                response = self._client.writer.BatchRecordObservations(request, timeout=CALL_TIMEOUT_S)
                return list(response.results)
            except grpc.RpcError as error:
                if error.code() in _REFUSALS_OF_ALL:
                    return [RecordObservationResult(error=item_error(error))] * len(request.observations)
                delay_s = details_of(error).retry_after_s
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or delay_s is None:
                    raise self._broken_off(failure_of(error)) from error
                time.sleep(delay_s)
        raise self._broken_off(Failure("the writer is overloaded", ExitCode.UNAVAILABLE))

    def _broken_off(self, failure: Failure) -> Failure:
        hint = f"broken off after {self._done:,} items; running the command again stores the rest"
        return Failure(f"{failure} ({hint})", failure.code)


def outcome_of(label: str, result: RecordObservationResult, prefix: str, *, conflict_is_known: bool = False) -> Outcome:
    """What became of an item, from what the writer said of it. `prefix` is cut from the paths of fields."""
    if result.WhichOneof("result") == "error":
        known = conflict_is_known and result.error.reason == ERROR_REASON_OBSERVATION_CONFLICT
        reason = describe_item_error(result.error, prefix)
        return Outcome(label, Fate.KNOWN if known else Fate.REFUSED, "" if known else reason, result)
    recorded = result.recorded
    if recorded.duplicate:
        return Outcome(label, Fate.KNOWN, "", result)
    failed = [
        describe_item_error(failed.error, prefix) + f" (assertions[{failed.index}])"
        for failed in recorded.failed_assertions
    ]
    return Outcome(label, Fate.PARTLY if failed else Fate.STORED, "; ".join(failed), result)


def item_error(error: grpc.RpcError) -> ItemError:
    """The error of a whole call as that of one item."""
    details = details_of(error)
    name = f"ERROR_REASON_{details.reason}"
    return ItemError(
        code=error.code().value[0],
        message=error.details() or "",
        reason=name if name in dict(ErrorReason.items()) else None,
        violations=[FieldViolation(field=one.field, description=one.description) for one in details.violations],
    )
