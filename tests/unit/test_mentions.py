"""AU-3: what names somebody is told by whole words, in whichever letters."""

import json

import pytest

from shared.mentions import mentions, names_of, texts_of_json, words_of

ANNA = names_of({"person:anna-7"}, {"Анна Ёлкина", "Al", "7131", ""})


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("see person:anna-7.", True),
        ("PERSON:ANNA-7", True),
        ("anna-7", True),
        ("АННА   ёлкина", True),
        ("анна елкина", True),
        ("Анна Ёл\u200bки\u00adна!", True),
        ("Анна, Ёлкина", True),
        ("Анна", False),
        ("Анна Ёлкинa", False),
        ("Сусанна Ёлкина", False),
        ("anna-77", False),
        ("person", False),
        # They stand in many texts that are about something else.
        ("Al", False),
        ("7131", False),
        ("", False),
    ],
)
def test_names_are_whole_words(text: str, is_named: bool) -> None:
    """AU-3: keys always; ids, titles and aliases of three characters and more, one of them a letter."""
    assert mentions(ANNA, text) is is_named
    assert mentions(ANNA, "before", text, "after") is is_named


def test_a_key_without_words_names_nothing() -> None:
    """AU-3: else it would stand in every text."""
    assert names_of({"!:!"}, {"…"}) == set()
    assert words_of(" ", "-") == ""


def test_all_strings_of_json_are_read() -> None:
    """AU-3: names of members, escaped letters, and numbers digit by digit, too."""
    text = json.dumps({'a"b': [1, {"Ёж": "c\nd"}, None, True]})[:-1] + ', "n": 1e400, "m": 12345678901234567890}'
    assert sorted(texts_of_json(text)) == sorted(['a"b', "1", "Ёж", "c\nd", "n", "1e400", "m", "12345678901234567890"])
