"""Work that waits, in two lanes, and which lane is next. Knows no model, no clock and no event loop."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from services.embedder.fair_lane import FairLane
from services.embedder.fair_lane import Queued as _Queued


class Queued(_Queued, Protocol):
    """A piece of work that waits, with the lane that it waits in."""

    @property
    def urgent(self) -> bool:
        """Whether it goes before what is not."""


ItemT = TypeVar("ItemT", bound=Queued)

# After so many urgent batches in a row the others get one, so that a flood of queries delays passages, not stops them.
URGENT_BATCHES_IN_A_ROW = 16


class BatchQueue(Generic[ItemT]):
    """An urgent and a patient lane.

    `urgent_apart` says that something runs urgent batches alone. What runs all of them then takes urgent ones where no
    others wait; without it urgent batches go first, up to a number in a row.
    """

    def __init__(self, *, urgent_apart: bool) -> None:
        self._urgent: FairLane[ItemT] = FairLane()
        self._patient: FairLane[ItemT] = FairLane()
        self._urgent_apart = urgent_apart
        self._urgent_in_a_row = 0

    def add(self, item: ItemT) -> None:
        """Appends a piece to its lane."""
        (self._urgent if item.urgent else self._patient).add(item)

    @property
    def patient_tokens(self) -> int:
        """Size of the patient work that waits."""
        return self._patient.tokens

    def urgent_is_next(self, *, patient_is_ready: bool = False) -> bool:
        """Says which lane the next batch is of; `patient_is_ready` where a patient batch was taken already."""
        if not self._urgent:
            return False
        if not self._patient and not patient_is_ready:
            return True
        return not self._urgent_apart and self._urgent_in_a_row < URGENT_BATCHES_IN_A_ROW

    def take(self, wanted: Callable[[ItemT], bool], batch_tokens: int, *, urgent: bool) -> list[ItemT]:
        """Removes and returns the next batch of a lane; empty when nothing waits there. See `FairLane.take`."""
        return (self._urgent if urgent else self._patient).take(wanted, batch_tokens)

    def begins(self, *, urgent: bool) -> None:
        """Counts a batch that is run now."""
        self._urgent_in_a_row = self._urgent_in_a_row + 1 if urgent else 0
