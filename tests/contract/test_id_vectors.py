"""OB-2, FA-2: the ids are those that the contract's comments promise."""

import re

import pytest

from tests.contract.contract import PROTOS
from tests.contract.id_vectors import vectors


@pytest.mark.parametrize(("computed", "promised"), vectors())
def test_vectors_hold(computed: str, promised: str) -> None:
    """OB-2, FA-2: anyone who follows the comments computes the same id."""
    assert computed == promised


def test_every_vector_of_the_comments_is_checked() -> None:
    """OB-2, FA-2: the list here and the comments say the same."""
    comments = "".join((PROTOS / "palimpsest/v1" / name).read_text() for name in ("observation.proto", "fact.proto"))
    shown = re.findall(r"→ (?:content_hash )?((?:obs-|fact-)?[0-9a-f]{24,64})\b", comments)
    assert set(shown) == {promised for _, promised in vectors()}
