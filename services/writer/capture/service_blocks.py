"""Finds what programs around a model put into messages: reminders, calls of tools and their results (CP-2). Pure.

A block begins with its tag at the start of a line, and ends with the tag that closes it, or, where that was cut off and
the tag has the line to itself, with the paragraph. What stands in code is an example and stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from services.writer.capture.skeleton import has_letters
from services.writer.capture.text_cut import Range, merged, without

_FENCED = re.compile(r"^[ \t>]*(```|~~~).*?(?:^[ \t>]*\1|\Z)", re.MULTILINE | re.DOTALL)


def without_service(text: str, tags: Collection[str]) -> tuple[str, int]:
    """The text without blocks of these tags, and how many there were."""
    if not tags or "<" not in text:
        return text, 0
    blocks = merged(_blocks(text, tags))
    return without(text, blocks) if blocks else (text, 0)


def _blocks(text: str, tags: Collection[str]) -> Iterator[Range]:
    code = [found.span() for found in _FENCED.finditer(text)]
    names = "|".join(re.escape(tag) for tag in sorted(tags, key=len, reverse=True))
    opening = re.compile(rf"^[ \t>]*(<({names})(?:\s[^<>]*)?>)", re.MULTILINE | re.IGNORECASE)
    place = 0
    while found := opening.search(text, place):
        place = found.end()
        if any(start < found.start(1) < end for start, end in code):
            continue
        end = _end(text, found)
        if end is not None:
            yield found.start(1), end
            place = end


def _end(text: str, opening: re.Match[str]) -> int | None:
    closing = re.compile(rf"</{re.escape(opening[2])}\s*>", re.IGNORECASE).search(text, opening.end())
    if closing:
        return closing.end()
    line = text.find("\n", opening.end())
    if line < 0 or has_letters(text, opening.end(), line):
        return None
    paragraph = text.find("\n\n", line)
    return len(text) if paragraph < 0 else paragraph
