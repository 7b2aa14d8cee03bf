"""The sections of a Markdown text: where its headings begin, and under which headings each part stands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt

HEADING_SEPARATOR = " › "
# A heading is repeated on each of its chunks: one as long as the text would make them grow with its square.
MAX_HEADING_CHARS = 200
# A text of more headings is a list or an attack; each section becomes at least one row.
MAX_SECTIONS = 5_000

_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*(?:\r\n|\r|\n)(?:.*?(?:\r\n|\r|\n))??---[ \t]*(?:\r\n|\r|\n|\Z)", re.DOTALL
)
_LINE_END = re.compile(r"\r\n|\r|\n")
# Only blocks: what is inside a paragraph holds no heading.
_PARSER = MarkdownIt("commonmark")
_PARSER.core.ruler.enableOnly(["normalize", "block"])


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a text under one heading path; sections joined are the text."""

    heading: str
    text: str


def sections(text: str) -> list[Section]:
    """Cuts a Markdown text before each heading that follows other text.

    Headings in code, quotes, lists and front matter are not headings of the text. A heading that another one follows at
    once begins a section with it, under the path of the latter. A text of more than `MAX_SECTIONS` is one section.
    """
    found: list[Section] = []
    path: list[_Heading] = []
    start = after_heading = 0
    for heading in _headings(text):
        if text[after_heading : heading.start].strip():
            found.append(Section(_joined(path), text[start : heading.start]))
            start = heading.start
        path = [*(step for step in path if step.level < heading.level), heading]
        after_heading = heading.end
    found.append(Section(_joined(path), text[start:]))
    return found if len(found) <= MAX_SECTIONS else [Section("", text)]


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    level: int
    text: str


def _body_start(text: str) -> int:
    match = _FRONT_MATTER.match(text)
    return match.end() if match else 0


def _headings(text: str) -> Iterator[_Heading]:
    body = _body_start(text)
    tokens = _PARSER.parse(text[body:])
    lines = [body, *(match.end() for match in _LINE_END.finditer(text, body)), len(text)]
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, last = token.map
            yield _Heading(lines[first], lines[last], int(token.tag[1:]), _shown(inline.content))


def _shown(content: str) -> str:
    words = " ".join(content.split())
    return words if len(words) <= MAX_HEADING_CHARS else words[: MAX_HEADING_CHARS - 1] + "…"


def _joined(path: list[_Heading]) -> str:
    return HEADING_SEPARATOR.join(step.text for step in path if step.text)
