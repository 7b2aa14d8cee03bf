"""Queries less what all queries share."""

from __future__ import annotations

import json

import numpy as np
import pytest

from services.reader.retrieval import tuning
from services.reader.retrieval.centring import DIRECTIONS, centred

STORED = json.loads(DIRECTIONS.read_text())


@pytest.mark.parametrize("fingerprint", STORED)
def test_the_common_part_and_the_language_are_taken_out(fingerprint: str) -> None:
    """RE-1: a share of the one, and all of the other, whatever the query."""
    common, language = (np.array(STORED[fingerprint][name]) for name in ("common", "language"))
    vector = np.random.default_rng(4).normal(size=len(common))

    less = centred(vector, fingerprint)

    assert less @ language == pytest.approx(0.0, abs=1e-4)
    expected = vector - tuning.COMMON_SHARE * common
    assert less == pytest.approx(expected - (expected @ language) * language, abs=1e-3)
    assert np.linalg.norm(language) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("fingerprint", STORED)
def test_languages_of_one_query_meet(fingerprint: str) -> None:
    """RE-1: two that differ by their language alone are the same."""
    language = np.array(STORED[fingerprint]["language"])
    vector = np.random.default_rng(4).normal(size=len(language))

    assert centred(vector + 0.3 * language, fingerprint) == pytest.approx(
        centred(vector - 0.3 * language, fingerprint), abs=1e-3
    )


def test_vectors_of_an_unknown_model_are_compared_as_they_are() -> None:
    """EM-4: directions are of one fingerprint."""
    vector = np.array([0.6, 0.8])

    assert centred(vector, "fp-" + "0" * 24) == pytest.approx(vector)


def test_every_calibrated_model_has_its_directions() -> None:
    """RE-4: the weights were fitted on queries less their common part."""
    assert set(tuning.CALIBRATIONS) <= set(STORED)
