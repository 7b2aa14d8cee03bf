"""Sends articles one by one, several at a time, and tells what became of each."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import grpc
from palimpsest.client import Client
from palimpsest.errors import details_of
from palimpsest.v1.writer_service_pb2 import RecordObservationResult, RetainArticleRequest

from cli.failure import ExitCode, Failure, failure_of
from cli.recording import MOST_WAITS, Outcome, item_error, outcome_of

CALL_TIMEOUT_S = 120.0
_AT_ONCE = 4
# Read ahead no further: a folder may be larger than the memory.
_GROUP_ITEMS = 32
# What is wrong with one article alone.
_REFUSALS_OF_ONE = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.ALREADY_EXISTS,
)


@dataclass(frozen=True)
class Article:
    """A text to retain, and what its user calls it."""

    label: str
    request: RetainArticleRequest


class Retainer:
    """Retains articles. A conflict is one about where a text was read, since its identity covers the text itself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def retain(self, items: Iterable[Article | Outcome]) -> Iterator[Outcome]:
        """The outcome of each item, in order; outcomes among the items pass through.

        Raises Failure where the writer is gone; what was stored until then stays.
        """
        waiting, done = iter(items), 0
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while group := list(islice(waiting, _GROUP_ITEMS)):
                try:
                    for outcome in pool.map(self._one, group):
                        done += 1
                        yield outcome
                except grpc.RpcError as error:
                    failure = failure_of(error)
                    hint = f"broken off after {done:,} items; running the command again stores the rest"
                    raise Failure(f"{failure} ({hint})", failure.code) from error

    def _one(self, item: Article | Outcome) -> Outcome:
        if isinstance(item, Outcome):
            return item
        return outcome_of(item.label, self._result(item.request), "", conflict_is_known=True)

    def _result(self, request: RetainArticleRequest) -> RecordObservationResult:
        for _ in range(MOST_WAITS):
            try:
                answer = self._client.writer.RetainArticle(request, timeout=CALL_TIMEOUT_S)
            except grpc.RpcError as error:
                if error.code() in _REFUSALS_OF_ONE:
                    return RecordObservationResult(error=item_error(error))
                delay_s = details_of(error).retry_after_s
                if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or delay_s is None:
                    raise
                time.sleep(delay_s)
            else:
                return RecordObservationResult(recorded=answer.observation)
        raise Failure("the writer is overloaded", ExitCode.UNAVAILABLE)
