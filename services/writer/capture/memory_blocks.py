"""Finds what a memory has said in a text that came back: whole, quoted, reflowed, escaped, cut or within itself (CP-2).
Pure.

What this namespace has rendered lately is known, and found by its letters alone, whatever became of the signs between
them. Of a pack that is not known, the marker tells where it begins and ends; where an end was cut off, the form of its
items does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from services.writer.capture.skeleton import Skeleton, has_letters
from services.writer.capture.text_cut import Range, is_bare, line_of, merged, without
from services.writer.capture.told_packs import Match, ToldPack, ToldPacks
from shared.pack_marker import CLOSING_FORM, OPENING_FORM

_SHORTEST = 20
"""Fewer letters may be anybody's, even where an item ends among them."""
_LONG = 160
"""So many letters in a row are a pack's, wherever they stand in an item. People may quote fewer of its inside."""
_SHORTEST_OF_LINE = 12
"""What a block shares with a line that has more: fewer letters are equal by chance."""

_OPEN, _CLOSE = r"[\[［【〔⟦(（]", r"[\]］】〕⟧)）]"
_DASH = r"[-‐‑‒–—−.]"
_NUMBERED = re.compile(rf"^[\s>*\\-]*{_OPEN}\s?\\?(\d{{1,4}})\\?\s?{_CLOSE}\s", re.MULTILINE)
_SOURCE_AT_END = re.compile(
    rf"[{{｛][^{{}}｛｝\n]*\d{{4}}{_DASH}\d\d{_DASH}\d\d[^{{}}｛｝\n]*[}}｝][\s\"»”]*$", re.MULTILINE
)
_NUMBER_BEFORE = re.compile(rf"{_OPEN}[\s\\\u200b]{{0,3}}$")

_BEFORE = re.compile(rf"(?:[<＜〈⟨《«‹❮]|&(?:amp;)*lt;|\\+u003c|{_OPEN})[\s/∕⁄／\\]{{0,3}}$")
_BEHIND = re.compile(r"\s?(?:[>＞〉⟩》»›❯}｝]|&(?:amp;)*gt;|\\+u003e)")


def without_memory(text: str, packs: ToldPacks) -> tuple[str, int]:
    """The text without blocks of memory, and how many there were. The same text where there is none."""
    known = list(_known_blocks(text, packs))
    text, blocks = without(text, known) if known else (text, 0)
    unknown = merged(_unknown_blocks(text))
    if not unknown:
        return text, blocks
    text, more = without(text, unknown)
    return text, blocks + more


def pack_ids(text: str) -> list[str]:
    """Ids of the packs whose openings the text has, in the form in which they are given."""
    found = (re.sub(r"[\W_]", "", each["pack_id"].lower()) for each in OPENING_FORM.finditer(text))
    return list(dict.fromkeys(f"pack-{each.removeprefix('pack')}" for each in found))


def _known_blocks(text: str, packs: ToldPacks) -> Iterator[Range]:
    skeleton = Skeleton.of(text)
    for pack, parts in packs.passages(skeleton.letters):
        if _is_rendered(text, skeleton, pack, parts):
            start, end = _trimmed(text, skeleton, parts[0].start, parts[-1].end)
            if start < end:
                first, last = skeleton.places[start], skeleton.ends[end - 1]
                yield _with_signs_before(text, first), _with_signs_behind(text, last)


def _is_rendered(text: str, skeleton: Skeleton, pack: ToldPack, parts: Sequence[Match]) -> bool:
    """Whether a memory must have said it: by the letters that are the pack's, not by what stands between them."""
    size = sum(part.end - part.start for part in parts)
    if size >= _LONG:
        return True
    if size < _SHORTEST:
        return False
    if any(pack.has_seam(part.in_pack, part.pack_end) for part in parts):
        return True
    place = skeleton.places[parts[0].start]
    return pack.is_head(parts[0].in_pack) and _NUMBER_BEFORE.search(text, max(0, place - 8), place) is not None


def _trimmed(text: str, skeleton: Skeleton, start: int, end: int) -> tuple[int, int]:
    """The letters less those shared by chance with the beginning of the line behind and the end of the line before."""
    places = skeleton.places
    last = line_of(text, places[end - 1])
    if has_letters(text, skeleton.ends[end - 1], last[1]):
        begun = bisect_left(places, last[0])
        end = begun if start < begun and end - begun < _SHORTEST_OF_LINE else end
    first = line_of(text, places[start])
    if not is_bare(text, first[0], places[start]):
        begun = bisect_left(places, first[1])
        start = begun if begun < end and begun - start < _SHORTEST_OF_LINE else start
    return start, end


def _with_signs_before(text: str, start: int) -> int:
    found = _BEFORE.search(text, max(0, start - 16), start)
    return found.start() if found else start


def _with_signs_behind(text: str, end: int) -> int:
    found = _BEHIND.match(text, end)
    return found.end() if found else end


def _unknown_blocks(text: str) -> Iterator[Range]:
    yield from _marked_blocks(text)
    yield from _rows_of_items(text)


def _marked_blocks(text: str) -> Iterator[Range]:
    """Blocks between markers; where one of the two is missing, as far as the form of items reaches."""
    openings = [(found.start(), found.end(), True) for found in OPENING_FORM.finditer(text)]
    closings = [(found.start(), found.end(), False) for found in CLOSING_FORM.finditer(text)]
    waiting: list[Range] = []
    last = 0
    for start, end, opens in sorted(openings + closings):
        if opens:
            waiting.append((start, end))
        elif waiting:
            yield waiting.pop()[0], end
        else:
            yield max(last, _items_before(text, start, last)), end
        last = end
    covered = 0
    for start, end in waiting:
        if start >= covered:
            covered = _items_behind(text, end)
            yield start, covered


def _items_behind(text: str, place: int) -> int:
    """The end of the paragraph, and of those that go on with numbered items."""
    while True:
        end = text.find("\n\n", place)
        if end < 0:
            return len(text)
        if not _NUMBERED.match(text, end + 2):
            return end
        place = end + 2


def _items_before(text: str, place: int, least: int) -> int:
    """The beginning of the paragraph, and of those before it as long as the first is no first item's; none before
    `least`."""
    start = text.rfind("\n\n", least, place)
    start = least if start < 0 else start + 2
    while start > least:
        number = _NUMBERED.match(text, start)
        if number is None or number[1] == "1":
            return start
        before = text.rfind("\n\n", least, start - 2)
        before = least if before < 0 else before + 2
        if not _NUMBERED.search(text, before, start):
            return start
        start = before
    return start


def _rows_of_items(text: str) -> Iterator[Range]:
    """Two numbered items or more in a row, each with its source, as only packs have them."""
    row: list[tuple[int, Range]] = []
    for found in _NUMBERED.finditer(text):
        line = line_of(text, found.start(1))
        if _SOURCE_AT_END.search(text, found.end(), line[1]) is None:
            continue
        number = int(found[1])
        if row and (row[-1][0] + 1 != number or text[row[-1][1][1] : line[0]].strip("> \t\n")):
            yield from _of_row(row)
            row = []
        row.append((number, line))
    yield from _of_row(row)


def _of_row(row: list[tuple[int, Range]]) -> Iterator[Range]:
    if len(row) > 1:
        yield row[0][1][0], row[-1][1][1]
