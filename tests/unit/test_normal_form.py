"""The normal form of text, and the contract's estimate of its length."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.normal_form import is_blank, normal_form
from shared.token_count import token_count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ёлка ЁЖ", "елка еж"),
        ("Е\u0308лка", "елка"),  # decomposed
        ("и\u0306", "й"),
        ("a\u00a0b\u202fc\u2007d", "a b c d"),
        ("со\u00adеди\u200bне\u200cн\u200dи\u2060е\ufeff", "соединение"),
        ("İstanbul", "istanbul"),
        ("ΟΔΟΣ", "οδοσ"),
        ("STRASSE ß", "strasse ß"),
        ("ASCII Text", "ascii text"),
        ("", ""),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    """OB-8: what differs only in form is equal."""
    assert normal_form(text) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_composed_and_decomposed_are_one(text: str) -> None:
    """OB-8: how a text is composed does not matter."""
    assert normal_form(unicodedata.normalize("NFD", text)) == normal_form(text)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\ufeff", "\u00a0 \u00ad", "\u2003"])
def test_blank(text: str) -> None:
    """EM-4: text without anything to be seen is told from text."""
    assert is_blank(text)
    assert not is_blank(text + "я")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("éééé", 2),  # eight bytes of Latin
        ("привет", 3),
        ("при", 2),
        ("привет, world", 5),
        ("東京", 1),
        ("😀😀", 1),
    ],
)
def test_token_count(text: str, expected: int) -> None:
    """DO-2: one per four bytes of Latin and one per two characters of other scripts."""
    assert token_count(text) == expected
