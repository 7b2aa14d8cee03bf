"""Visibility labels (`type:id`): which of them restrict, and which say where an item applies.

The predicates themselves are the SQL functions `visible` and `applicable` of the schema, used verbatim by every
statement; this module prepares their arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

RESTRICTING_TYPES = frozenset({"principal", "workspace", "role"})


def is_restricting(label: str) -> bool:
    """Whether a label hides its item from those who don't hold it (AC-2).

    The type is compared without case and surrounding space: a label that was meant to hide must never come to mean
    merely "applies here" because of how it was written.
    """
    return label.partition(":")[0].strip().casefold() in RESTRICTING_TYPES


def split(scopes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Labels as the two arrays that rows carry, (restricting, applies), each sorted and without repeats."""
    labels = sorted(set(scopes))
    if not labels:
        return [], []
    return [label for label in labels if is_restricting(label)], [
        label for label in labels if not is_restricting(label)
    ]
