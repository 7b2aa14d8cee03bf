"""Blocks taken out of a text so that what stays is as it was, byte for byte (CP-2). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from services.writer.capture.skeleton import has_letters

Range = tuple[int, int]
"""From the first character to one past the last."""

# Of a line of code's beginning or end; a space may have become one that does not break.
_FENCE_LINE = r"(?:[>\u200b]|[^\S\n])*(?:```|~~~)[\w\u200b-]*(?:[>\u200b]|[^\S\n])*"
_CODE_TAG = re.compile(r"(?:```|~~~)[\w\u200b-]*")
_FENCE = re.compile(rf"{_FENCE_LINE}\n?")
_FENCE_ALONE = re.compile(rf"^{_FENCE_LINE}$", re.MULTILINE)
_BETWEEN = re.compile(rf"(?:[\s>]|^{_FENCE_LINE}$)*", re.MULTILINE)
_QUOTED_NOTHING = re.compile(r"(?:[>\u200b]|[^\S\n])*>(?:[>\u200b]|[^\S\n])*\n?")


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The ranges in order, those that touch or overlap as one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def without(text: str, blocks: Iterable[Range]) -> tuple[str, int]:
    """The text without the blocks, and how many there were. Lines that have nothing else go whole, with the code fence
    around them; blocks with only signs between them are one."""
    ranges = _joined(text, merged(_whole_lines(text, block) for block in blocks))
    is_odd = _has_odd_fences(text, ranges)
    fenced = merged(_with_fences(text, block, is_odd=is_odd) for block in ranges)
    kept, place = [], 0
    for start, end in fenced:
        kept.append(text[place:start])
        place = end
    return "".join([*kept, text[place:]]), len(fenced)


def line_of(text: str, place: int) -> Range:
    """The line that holds a character, with its end."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return start, len(text) if end < 0 else end + 1


def is_bare(text: str, start: int, end: int) -> bool:
    """Whether a part of the text has no letters, or only begins code."""
    part = _CODE_TAG.sub("", text[start:end])
    return not has_letters(part, 0, len(part))


def _whole_lines(text: str, block: Range) -> Range:
    """The block with the rest of its lines, as far as that is signs only and nothing else stands before."""
    start, end = block
    first, _ = line_of(text, start)
    _, last = line_of(text, max(start, end - 1))
    begins_its_line = is_bare(text, first, start)
    ends_its_line = not has_letters(text, end, last)
    if begins_its_line and ends_its_line:
        return first, last
    if begins_its_line:
        return first, end
    if ends_its_line and "\n" in text[start:end]:
        # What stood before the block keeps the end of its line.
        return start, last - 1 if text[last - 1 : last] == "\n" else last
    return start, end


def _joined(text: str, ranges: Sequence[Range]) -> list[Range]:
    found: list[Range] = []
    for start, end in ranges:
        if found and _BETWEEN.fullmatch(text, found[-1][1], start):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _has_odd_fences(text: str, blocks: Sequence[Range]) -> bool:
    """Whether a line that begins or ends code has no other outside the blocks."""
    place, number = 0, 0
    for start, end in [*blocks, (len(text), len(text))]:
        number += len(_FENCE_ALONE.findall(text, place, start))
        place = end
    return number % 2 == 1


def _with_fences(text: str, block: Range, *, is_odd: bool) -> Range:
    """The block with all the lines around it that only quote it."""
    while (wider := _with_fence(text, block, is_odd=is_odd)) != block:
        block = wider
    return block


def _with_fence(text: str, block: Range, *, is_odd: bool) -> Range:
    """The block with the lines around it that only quote it."""
    start, end = block
    if (start and text[start - 1] != "\n") or (end < len(text) and text[end - 1 : end] != "\n"):
        return block
    if text[start:end].lstrip().startswith(">"):
        start, end = _without_empty_quotes(text, start, end)
    before = line_of(text, start - 1) if start else (0, 0)
    after = line_of(text, end) if end < len(text) else (end, end)
    opened, closed = (bool(_FENCE.fullmatch(text[slice(*each)])) for each in (before, after))
    if opened and closed:
        return before[0], after[1]
    if opened and is_odd:
        return before[0], end
    return (start, after[1]) if closed and is_odd else (start, end)


def _without_empty_quotes(text: str, start: int, end: int) -> Range:
    while start and _QUOTED_NOTHING.fullmatch(text[slice(*line_of(text, start - 1))]):
        start = line_of(text, start - 1)[0]
    while end < len(text) and _QUOTED_NOTHING.fullmatch(text[slice(*line_of(text, end))]):
        end = line_of(text, end)[1]
    return start, end
