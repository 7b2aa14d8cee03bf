"""A text's letters and digits alone, in the one form that quoting, reflow, escaping and other punctuation leave as it
is, each with its place in the text (CP-2). Pure."""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

# Escapes of JSON and HTML, as often as they were escaped, and words.
_TOKEN = re.compile(
    r"\\+u(?P<code>[0-9a-f]{4})|\\+[nrtbf]|&(?:amp;)*(?P<entity>#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8}\d{0,2});"
    r"|(?P<word>[^\W_]+)",
    re.IGNORECASE,
)
_WIDTHLESS = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Letters and digits in lower case, without marks above or below them, and where each begins and ends."""

    letters: str
    places: array[int]
    ends: array[int]

    @classmethod
    def of(cls, text: str) -> Skeleton:
        """The skeleton of a text."""
        letters: list[str] = []
        places, ends = array("L"), array("L")
        widthless = [found.start() for found in _WIDTHLESS.finditer(text)]
        for token in _TOKEN.finditer(_WIDTHLESS.sub("", text) if widthless else text):
            for folded, start, end in _signs(token):
                letters.append(folded)
                places.append(start)
                ends.append(end)
        if widthless:
            places, ends = _shifted(places, widthless), _shifted(array("L", (end - 1 for end in ends)), widthless)
            ends = array("L", (end + 1 for end in ends))
        return cls("".join(letters), places, ends)


def has_letters(text: str, start: int, end: int) -> bool:
    """Whether a part of a text has a letter or digit that is not only how a sign is escaped."""
    part = _WIDTHLESS.sub("", text[start:end])
    return any(token["word"] or plain(_decoded(token)) for token in _TOKEN.finditer(part))


def plain(text: str) -> str:
    """Letters and digits of a text in the form in which they are compared."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(sign for sign in folded if sign.isalnum())


def _shifted(places: array[int], taken: list[int]) -> array[int]:
    """Places in a text less some characters, as places in the text."""
    shifted, gone = array("L"), 0
    for place in places:
        while gone < len(taken) and taken[gone] <= place + gone:
            gone += 1
        shifted.append(place + gone)
    return shifted


def _signs(token: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """Each letter of a token, and from where to where it stands for it."""
    word = token["word"]
    if word is None:
        for sign in plain(_decoded(token)):
            yield sign, token.start(), token.end()
        return
    folded = plain(word)
    if len(folded) == len(word):
        yield from ((sign, place, place + 1) for place, sign in enumerate(folded, token.start()))
        return
    for place, given in enumerate(word, token.start()):
        yield from ((sign, place, place + 1) for sign in plain(given))


def _decoded(token: re.Match[str]) -> str:
    if token["code"]:
        return chr(int(token["code"], 16))
    return html.unescape(f"&{token['entity'].lower()};") if token["entity"] else ""
