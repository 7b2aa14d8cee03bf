"""Cuts any number of observations into batches that one call takes."""

from collections.abc import Iterator

import grpc

from palimpsest.v1.error_reason_pb2 import ERROR_REASON_MESSAGE_TOO_LARGE
from palimpsest.v1.item_error_pb2 import ItemError
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.writer_service_pb2 import BatchRecordObservationsRequest, RecordObservationResult

MOST_ITEMS = 1_000
"""Most observations that one `BatchRecordObservations` takes."""

# Tag and length of one observation in a request: 1 byte and, below 256 MiB, 4 at most.
_FRAME_BYTES = 5

Step = BatchRecordObservationsRequest | RecordObservationResult
"""What comes next: a call, or the result of an observation that no call can take."""


class ObservationBatches:
    """Collects observations of one namespace; each batch keeps both limits, that of items and that of bytes."""

    def __init__(
        self, namespace: str, *, most_bytes: int, most_items: int = MOST_ITEMS, wait_for_embedding: bool = False
    ) -> None:
        if not 1 <= most_items <= MOST_ITEMS:
            raise ValueError(f"a batch has 1 to {MOST_ITEMS:,} observations")
        self._empty = BatchRecordObservationsRequest(namespace=namespace, wait_for_embedding=wait_for_embedding)
        self._most_bytes = most_bytes
        self._most_items = most_items
        self._begin()

    def add(self, observation: Observation) -> Iterator[Step]:
        """What has to be done before, or instead of, taking `observation` into the batch; consume it whole."""
        size = observation.ByteSize() + _FRAME_BYTES
        if self._is_full(size):
            yield from self.rest()
        if self._is_full(size):  # even an empty batch cannot hold it
            yield self._refused()
            return
        self._request.observations.append(observation)
        self._size += size

    def rest(self) -> Iterator[Step]:
        """The batch that is not full yet, if it holds anything."""
        if self._request.observations:
            full = self._request
            self._begin()
            yield full

    def _begin(self) -> None:
        self._request = BatchRecordObservationsRequest()
        self._request.CopyFrom(self._empty)
        self._size = self._empty.ByteSize()

    def _is_full(self, size: int) -> bool:
        return self._size + size > self._most_bytes or len(self._request.observations) >= self._most_items

    def _refused(self) -> RecordObservationResult:
        error = ItemError(
            code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0],
            message="The observation alone is larger than a message may be.",
            reason=ERROR_REASON_MESSAGE_TOO_LARGE,
            metadata={"limit_bytes": str(self._most_bytes)},
        )
        return RecordObservationResult(error=error)
