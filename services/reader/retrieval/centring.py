"""Takes out of a query's vector what all queries have in common, and what tells its language.

A model gives all queries a great common part. It says nothing of what is asked, but it puts passages of some lengths
and languages nearer than others. Less it, short turns of a conversation and answers in another language are found far
better, and what is far is told better from what is near.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from services.reader.retrieval import tuning

Vector: TypeAlias = NDArray[np.float32]

DIRECTIONS = Path(__file__).with_name("centring.json")


class Directions(NamedTuple):
    """What the vectors of a model's queries share."""

    common: Vector
    """The mean of queries."""
    language: Vector
    """Of length 1: from queries in Russian to the same ones in English."""


def centred(vector: NDArray[Any], fingerprint: str) -> Vector:
    """The vector less a share of the common part and all of the language; shorter than 1 by what that was.

    As it is, where the directions of the model are not known: `bench.centring` finds them.
    """
    given = vector.astype(np.float32)
    directions = _directions().get(fingerprint)
    if directions is None:
        return given
    less: Vector = given - np.float32(tuning.COMMON_SHARE) * directions.common
    along = np.float32(less @ directions.language)
    return less - along * directions.language


@cache
def _directions() -> Mapping[str, Directions]:
    stored = json.loads(DIRECTIONS.read_text())
    return {
        fingerprint: Directions(*(np.array(each[name], dtype=np.float32) for name in Directions._fields))
        for fingerprint, each in stored.items()
    }
