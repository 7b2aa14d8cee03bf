"""Budgets of packs: how long a text is, in the unit of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

DEFAULT_CHARACTERS = 2_800

# The contract's estimate in whole parts, so that it adds up: an ASCII character is one, any other two.
_PARTS_OF_A_TOKEN = 4


class Unit(Enum):
    """What a budget counts."""

    CHARACTERS = "characters"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a rendered pack may be long, its wrapper included."""

    amount: int = DEFAULT_CHARACTERS
    unit: Unit = Unit.CHARACTERS

    @property
    def size(self) -> int:
        """The budget in the parts that `measure` counts."""
        return self.amount if self.unit is Unit.CHARACTERS else self.amount * _PARTS_OF_A_TOKEN

    def measure(self, text: str) -> int:
        """How much of `size` a text takes; of joined texts, the sum of theirs."""
        if self.unit is Unit.CHARACTERS:
            return len(text)
        return 2 * len(text) - len(text.encode("ascii", "ignore"))
