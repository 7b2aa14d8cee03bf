"""Scrubs secrets out of a text before anything is stored: keys, tokens, passwords (CP-3). Pure, in memory.

What is a secret is told by the detectors of detect-secrets. Their patterns are run here, since of many secrets they
tell only the beginning, and all of one has to go. Left out are the detectors of entropy, which take hashes and ids for
secrets, and that of public addresses, which are none. A password that is only told in words is a guess of ours: a word
for one, `:` or `=`, and a value that looks like no word.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import detect_secrets.plugins
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.keyword import DENYLIST, KeywordDetector

from services.writer.capture.text_cut import Range

_LEFT_OUT = {"IPPublicDetector", "RegexBasedDetector"}
# A group this long is the secret itself, and what stands around it only led there.
_SHORTEST_GROUP = 8
_REST_OF_TOKEN = re.compile(r"[A-Za-z0-9_\-]*")
_REST_OF_JWT = re.compile(r"[A-Za-z0-9_\-.=+/]*")
_KEY_BEGINS = re.compile(r"-{3,5}\s?BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-{3,5}")
_KEY_ENDS = re.compile(r"-{3,5}\s?END[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-{3,5}")
_LINES_OF_KEY = re.compile(r"(?:(?:\\n|\s)*[A-Za-z0-9+/=:,\-]{16,})*")
_LONGEST_KEY = 20_000
# Patterns that are not ours may take time by the square of what they look at. Longer than the overlap is no secret.
_WINDOW, _OVERLAP = 4_096, 512
_KEYWORDS = "|".join((*DENYLIST, r"token", r"bearer", r"парол[ьяю]", r"токен", r"секретный ключ", r"ключ api"))
# Longer lines are no code, and the detector of keywords takes time by the square of a line.
_LONGEST_LINE_OF_CODE = 400
_SAID = re.compile(
    rf"(?:{_KEYWORDS})(?:s|[_-]\w{{1,20}})?[\"'`»]?(?:\s{{0,3}}(?::=|=>|[:=])\s{{0,3}}|\s(?=[^\s\"'`]{{20}}))[\"'`«]?"
    r"(?P<secret>(?!\[secret:)(?=[^\s\"'`»]{0,99}\d)(?=[^\s\"'`»]{0,99}[^\W\d])[^\s\"'`»,;]{6,})",
    re.IGNORECASE,
)
_HAS_KEYWORD = re.compile(_KEYWORDS, re.IGNORECASE)


class Scrubbed(NamedTuple):
    """A text without secrets, and how many of each kind are gone."""

    text: str
    kinds: tuple[str, ...]


def scrubbed(text: str) -> Scrubbed:
    """The text with `[secret:<kind>]` in the place of each secret. Scrubbing it again changes nothing."""
    found = sorted(_found(text), key=lambda each: (each[0][0], -each[0][1]))
    kept: list[str] = []
    kinds: list[str] = []
    place = 0
    for (start, end), kind in found:
        if start < place:
            # Two detectors of one secret: what reaches further goes too.
            place = max(place, end)
            continue
        kept += (text[place:start], f"[secret:{kind}]")
        kinds.append(kind)
        place = end
    return Scrubbed("".join([*kept, text[place:]]), tuple(kinds)) if kinds else Scrubbed(text, ())


def _found(text: str) -> Iterator[tuple[Range, str]]:
    yield from ((block, "private-key") for block in _private_keys(text))
    for start, window in _windows(text):
        for kind, pattern in _patterns():
            for found in pattern.finditer(window):
                first, last = _whole(window, found, kind)
                yield (start + first, start + last), kind
    if _HAS_KEYWORD.search(text):
        yield from ((found.span("secret"), "password") for found in _SAID.finditer(text))
        yield from _in_code(text)


def _private_keys(text: str) -> Iterator[Range]:
    """Keys from their first line to their last one; where that is missing, as far as lines look like a key's."""
    place, ends = 0, [found.end() for found in _KEY_ENDS.finditer(text)]
    while begun := _KEY_BEGINS.search(text, place):
        nearest = bisect_right(ends, begun.end())
        if nearest < len(ends) and ends[nearest] - begun.end() <= _LONGEST_KEY:
            place = ends[nearest]
        else:
            lines = _LINES_OF_KEY.match(text, begun.end())
            place = max(begun.end(), lines.end() if lines else 0)
        yield begun.start(), place


def _windows(text: str) -> Iterator[tuple[int, str]]:
    for start in range(0, max(1, len(text) - _OVERLAP), _WINDOW - _OVERLAP):
        yield start, text[start : start + _WINDOW]


def _whole(text: str, found: re.Match[str], kind: str) -> Range:
    """All of a secret, of which a pattern may tell only the beginning."""
    inner = next((place for place in range(1, found.re.groups + 1) if found[place]), 0)
    if inner and (kind == "basic-auth" or len(found[inner]) >= _SHORTEST_GROUP):
        return found.span(inner)
    rest = (_REST_OF_JWT if kind == "jwt-token" else _REST_OF_TOKEN).match(text, found.end())
    return found.start(), rest.end() if rest else found.end()


def _in_code(text: str) -> Iterator[tuple[Range, str]]:
    """Values that a line of code gives to what is named like a secret."""
    detector, start = _keywords(), 0
    for line in text.splitlines(keepends=True):
        if len(line) <= _LONGEST_LINE_OF_CODE and _HAS_KEYWORD.search(line):
            for secret in set(detector.analyze_string(line.rstrip("\r\n"))):
                place = line.find(secret)
                if place >= 0 and len(secret) > 1 and not secret.startswith("[secret:"):
                    yield (start + place, start + place + len(secret)), "password"
        start += len(line)


@cache
def _keywords() -> Any:
    return KeywordDetector()


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The patterns of the library's detectors, with the kind of secret that each tells."""
    return tuple((_kind(each), _within_text(pattern)) for each in _detectors() for pattern in each.denylist)


def _detectors() -> Iterable[Any]:
    for module in pkgutil.iter_modules(detect_secrets.plugins.__path__):
        named = vars(importlib.import_module(f"{detect_secrets.plugins.__name__}.{module.name}"))
        for detector in named.values():
            if (
                isinstance(detector, type)
                and issubclass(detector, RegexBasedDetector)
                and detector.__module__.endswith(f".{module.name}")
                and detector.__name__ not in _LEFT_OUT
            ):
                yield detector()


def _within_text(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """A pattern that finds words within any text: not whole lines only, nor in time by the cube of spaces in a row."""
    whole = pattern.pattern
    if whole.startswith("^") and whole.endswith("$"):
        whole = rf"(?<![\w-]){whole[1:-1]}(?![\w-])"
    return re.compile(whole.replace("(?: *)", "(?: {0,4})").replace("| +|", "| {1,4}|"), pattern.flags)


def _kind(detector: Any) -> str:
    name = type(detector).__name__.removesuffix("Detector")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
