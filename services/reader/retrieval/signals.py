"""Names of the signals, of the modes that choose them, and of why one is missing; all numbers of the contract."""

from __future__ import annotations

from enum import IntEnum


class Signal(IntEnum):
    """A way in which candidates are found and scored."""

    LEXICAL = 1
    TRIGRAM = 2
    VECTOR = 3
    GRAPH = 4
    TIME = 5
    AUTHOR = 6
    NEIGHBOR = 7
    RERANK = 8


class Mode(IntEnum):
    """Which signals are asked for."""

    FULL = 1
    LEXICAL = 2
    VECTOR = 3
    GRAPH = 4


SIGNALS: dict[Mode, frozenset[Signal]] = {
    Mode.FULL: frozenset(Signal),
    Mode.LEXICAL: frozenset({Signal.LEXICAL, Signal.TRIGRAM}),
    Mode.VECTOR: frozenset({Signal.VECTOR}),
    Mode.GRAPH: frozenset({Signal.GRAPH}),
}
"""The signals of the modes that this version has."""


def looked_up(mode: Mode) -> frozenset[Signal]:
    """The signals that are looked up for a mode: a walk begins from what words and vectors found, and is held to it."""
    return SIGNALS[mode] | ({Signal.LEXICAL, Signal.VECTOR} if Signal.GRAPH in SIGNALS[mode] else set())


class Cause(IntEnum):
    """Why a signal that was asked for did not take part."""

    TIMEOUT = 1
    UNAVAILABLE = 2
    MODEL_MISMATCH = 3
    NO_VECTORS = 4


class SignalMissing(Exception):
    """A signal cannot take part. Never leaves the reader: the others still answer."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.name)
        self.cause = cause
