"""EM-4: the id of a vector's space."""

import dataclasses
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.embedder.fingerprint import Fingerprint

E5 = Fingerprint("intfloat/multilingual-e5-small", "abc", "query: ", "passage: ", "mean", 384, True)

fingerprints = st.builds(
    Fingerprint,
    model=st.text(max_size=3),
    revision=st.text(max_size=3),
    query_prefix=st.text(max_size=3),
    passage_prefix=st.text(max_size=3),
    pooling=st.text(max_size=3),
    dimension=st.integers(0, 20),
    normalized=st.booleans(),
)


def test_id_is_24_hex_digits_of_a_hash_over_length_prefixed_fields():
    """EM-4: anyone can compute the id; a change of the form would orphan every stored vector."""
    values = [b"intfloat/multilingual-e5-small", b"abc", b"query: ", b"passage: ", b"mean", b"384", b"1"]
    form = b"".join(len(value).to_bytes(4, "big") + value for value in values)
    assert E5.id == "fp-" + hashlib.sha256(form).hexdigest()[:24]
    assert re.fullmatch("fp-[0-9a-f]{24}", E5.id)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"revision": "abd"},
        {"query_prefix": ""},
        {"passage_prefix": "passage:"},
        {"pooling": "cls"},
        {"dimension": 385},
        {"normalized": False},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_changes_the_id(change):
    """EM-4: models of equal dimension are different spaces."""
    assert dataclasses.replace(E5, **change).id != E5.id


def test_text_that_moves_between_fields_changes_the_id():
    """EM-4: no two fingerprints share a canonical form."""
    one = dataclasses.replace(E5, query_prefix="ab", passage_prefix="c")
    other = dataclasses.replace(E5, query_prefix="a", passage_prefix="bc")
    assert one.id != other.id


@given(fingerprints, fingerprints)
def test_equal_ids_mean_equal_fingerprints(one, other):
    """EM-4: the canonical form is injective."""
    assert (one.id == other.id) == (one == other)
