"""The constants of fusion, as a namespace has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from services.reader.retrieval import tuning
from services.reader.retrieval.signals import Signal

_PREFIX = "fusion."


@dataclass(frozen=True, slots=True)
class Blend:
    """What each signal counts; the defaults are those of `tuning`."""

    vector_weight: float = tuning.VECTOR_WEIGHT
    message_vector_weight: float = tuning.MESSAGE_VECTOR_WEIGHT
    coverage_gate: float = tuning.COVERAGE_GATE
    coverage_gate_across: float = tuning.COVERAGE_GATE_ACROSS
    neighbor_weight: float = tuning.NEIGHBOR_WEIGHT
    author_weight: float = tuning.AUTHOR_WEIGHT
    trigram_weight: float = tuning.TRIGRAM_WEIGHT
    graph_weight: float = tuning.GRAPH_WEIGHT
    time_weight: float = tuning.TIME_WEIGHT
    rerank_weight: float = tuning.RERANK_WEIGHT
    others_factor: float = tuning.OTHERS_FACTOR
    stale_factor: float = tuning.STALE_FACTOR

    @classmethod
    def of(cls, overrides: Mapping[str, float]) -> Self:
        """The constants with those that a namespace's tuning sets, by their names after `fusion.`."""
        if not overrides:
            return cls()
        names = {field.name for field in fields(cls)}
        given = {name.removeprefix(_PREFIX): value for name, value in overrides.items() if name.startswith(_PREFIX)}
        return cls(**{name: value for name, value in given.items() if name in names})

    def weight(self, signal: Signal) -> float:
        """What the best of the signal's list adds to a score, where words and vectors are not both there."""
        match signal:
            case Signal.NEIGHBOR:
                return self.neighbor_weight
            case Signal.AUTHOR:
                return self.author_weight
            case Signal.TRIGRAM:
                return self.trigram_weight
            case Signal.GRAPH:
                return self.graph_weight
            case Signal.TIME:
                return self.time_weight
            case _:
                return 1.0
