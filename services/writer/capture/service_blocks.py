"""Finds what programs around a model put into messages: reminders, calls of tools and their results (CP-2). Pure.

A block begins with its tag at the start of a line, and ends with the tag that closes it, or, where that was cut off and
the tag has the line to itself, with the paragraph. What stands in code is an example and stays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

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
    closings: defaultdict[str, list[int]] = defaultdict(list)
    for closed in re.finditer(rf"</({names})\s*>", text, re.IGNORECASE):
        closings[closed[1].lower()].append(closed.end())
    place = 0
    while found := opening.search(text, place):
        place = found.end()
        if _is_within(code, found.start(1)):
            continue
        end = _end(text, found, closings[found[2].lower()])
        if end is not None:
            yield found.start(1), end
            place = end


def _is_within(ranges: Sequence[Range], place: int) -> bool:
    before = bisect_right(ranges, (place, place)) - 1
    return before >= 0 and ranges[before][0] < place < ranges[before][1]


def _end(text: str, opening: re.Match[str], closings: Sequence[int]) -> int | None:
    """One past the tag that closes it; without one, the end of the paragraph if the tag has its line to itself."""
    nearest = bisect_right(closings, opening.end())
    if nearest < len(closings):
        return closings[nearest]
    line = text.find("\n", opening.end())
    if line < 0 or has_letters(text, opening.end(), line):
        return None
    paragraph = text.find("\n\n", line)
    return len(text) if paragraph < 0 else paragraph
