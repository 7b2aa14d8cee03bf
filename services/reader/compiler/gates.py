"""Where a candidate may be dropped; numbers of the contract, in the order in which they are passed."""

from __future__ import annotations

from enum import IntEnum


class Gate(IntEnum):
    """The gate that dropped an item. NONE: it is in the pack."""

    NONE = 0
    VISIBILITY = 1
    APPLICABILITY = 2
    SUPERSEDED = 3
    EVIDENCE_LOST = 4
    FLOOR = 5
    CAP = 6
    DUPLICATE = 7
    BUDGET = 8
    NOT_FOUND = 9
    FILTER = 10
    STATUS = 11
