"""Cuts text into sentences, with their places in it: Russian and English prose, lists and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# An end, whatever closes after it, and a space; what follows must look like a beginning.
_END = re.compile(r"[.!?…]+[\"'»”)\]*_]*(?=\s)")
_BEGINNING = re.compile(r"[\s\"'«“(\[*_>–—-]*[A-ZА-ЯЁ0-9]")  # both alphabets and both dashes are meant
# A full stop after these ends nothing. One letter is an initial.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(«\"])(?:[A-ZА-ЯЁ]|mr|mrs|ms|dr|prof|st|no|vs|etc|e\.g|i\.e|approx|inc|ltd|fig|cf|"
    r"г|гг|им|ул|д|стр|рис|т\.д|т\.п|т\.е|т\.к|т|тыс|млн|млрд|руб|см|напр|проф|акад|№)\.$",
    re.IGNORECASE,
)
_BLANK_OR_MARK = re.compile(r"(?:\s|#{1,6}(?=\s)|[-*+•](?=\s)|\d{1,3}[.)](?=\s)|\|)*")
_LOOKED_BACK = 12


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its place: from `start` up to before `end`."""

    text: str
    start: int
    end: int

    @property
    def is_question(self) -> bool:
        """Whether it asks, and so says nothing."""
        return "?" in self.text[-4:]

    @property
    def is_quoted(self) -> bool:
        """Whether it is a quotation in Markdown: somebody else's words."""
        return self.text.startswith(">")


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences in order. No line is joined with the next; marks of lists and headings stand before sentences."""
    for line in re.finditer(r"[^\r\n]+", text):
        yield from _of_line(line.group(), line.start())


def _of_line(line: str, offset: int) -> Iterator[Sentence]:
    start = 0
    for end in (*_ends(line), len(line)):
        mark = _BLANK_OR_MARK.match(line, start, end)
        begun = mark.end() if mark else start
        stripped = line[begun:end].rstrip()
        if any(map(str.isalnum, stripped)):
            yield Sentence(stripped, offset + begun, offset + begun + len(stripped))
        start = end


def _ends(line: str) -> Iterator[int]:
    for found in _END.finditer(line):
        if not _BEGINNING.match(line, found.end()):
            continue
        is_stop = found.group() == "."
        if is_stop and _ABBREVIATION.search(line, max(0, found.start() - _LOOKED_BACK), found.end()):
            continue
        # `1. ` opens an item of a list.
        if is_stop and line[: found.start()].strip().isdigit():
            continue
        yield found.end()
