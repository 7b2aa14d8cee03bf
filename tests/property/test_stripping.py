"""CP-2: what a memory rendered is found again whatever became of it, and what people wrote stays byte for byte."""

from __future__ import annotations

import html
import json
import random
import re
import textwrap
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.writer.capture.skeleton import has_letters, plain
from services.writer.capture.stripping import stripped
from services.writer.capture.told_packs import ToldPack, ToldPacks
from shared.pack_marker import CLOSING, harmless, wrap

PACKED_TEXT = (
    "alice works on alpha since nightly the service restarts отчёты по проекту выходят понедельникам решили "
    "деплой версия 2.4 «Альфа» config=on [draft] tea 17 über naïve São ①"
)
OWN_TEXT = (
    "I think we should go on Wednesday. наверное, завтра попробую ещё раз! Could you check `make test` please? "
    "мне нравится зелёный чай; спасибо. {maybe} (later) 42% -- see https://example.org/a?b=1&c=2"
)
WORDS, OWN = PACKED_TEXT.split(), OWN_TEXT.split()

sentences = st.lists(st.sampled_from(WORDS), min_size=4, max_size=14).map(" ".join)
# A chunk has lines of its own, and empty ones.
texts = st.lists(sentences, min_size=1, max_size=3).map("\n".join)
items = st.lists(texts, min_size=2, max_size=8, unique=True)
own = st.lists(
    st.one_of(st.just(""), st.lists(st.sampled_from(OWN), min_size=5, max_size=15).map(" ".join)),
    min_size=1,
    max_size=4,
).map("\n".join)


def rendered(bodies: list[str], seed: int) -> str:
    """A pack as the reader renders it."""
    lines = [
        harmless(f"[{number}] {'(stale) ' if number % 3 == 0 else ''}{body} {{chat/room m{seed}-{number}, 2026-08-07}}")
        for number, body in enumerate(bodies, start=1)
    ]
    return wrap(f"pack-{random.Random(seed).randrange(16**24):024x}", "\n".join(lines))


Mangle = Callable[[str, random.Random], str]


def reflowed(text: str, chance: random.Random) -> str:
    return "\n".join(textwrap.wrap(" ".join(text.split()), chance.randrange(30, 100), break_long_words=False))


def quoted(text: str, chance: random.Random) -> str:
    prefix = chance.choice(["> ", ">> ", "  > "])
    return "\n".join(prefix + line for line in text.split("\n"))


def indented(text: str, chance: random.Random) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def fenced(text: str, chance: random.Random) -> str:
    return f"```{chance.choice(['', 'text', 'xml'])}\n{text}\n```"


def escaped(text: str, chance: random.Random) -> str:
    return html.escape(text)


def in_json(text: str, chance: random.Random) -> str:
    return json.dumps(text, ensure_ascii=chance.random() < 0.5)


SIGNS = [
    str.maketrans({'"': "”", "<": "＜", ">": "＞", "[": "［", "]": "］", "-": "—", " ": "\u00a0"}),
    str.maketrans({'"': "«", "[": "【", "]": "】", "{": "｛", "}": "｝", "-": "–", "'": "’"}),
    str.maketrans({"<": "‹", ">": "›", "-": "\u2011", ",": "，", ":": "："}),
]


def other_signs(text: str, chance: random.Random) -> str:
    return text.translate(chance.choice(SIGNS))


def widthless(text: str, chance: random.Random) -> str:
    return "".join(sign + ("\u200b" if chance.random() < 0.05 else "") for sign in text)


def other_case(text: str, chance: random.Random) -> str:
    return chance.choice([str.upper, str.lower, str.title])(text)


# What becomes of signs becomes of them before they are escaped: within an escape they would make it another text.
OF_SIGNS: list[Mangle] = [other_signs, widthless, other_case]
OF_LAYOUT: list[Mangle] = [reflowed, quoted, indented, fenced]
ESCAPES: list[Mangle] = [escaped, in_json]


def cut(text: str, chance: random.Random) -> str:
    """At one end, or both, or neither."""
    size = len(text)
    start = chance.randrange(size // 3) if chance.random() < 0.5 else 0
    end = size - chance.randrange(size // 3) if chance.random() < 0.5 else size
    return text[start:end]


def knowing(*packs: str) -> ToldPacks:
    return ToldPacks([ToldPack.of(pack) for pack in packs])


def lines_left(pack: str, text: str) -> list[str]:
    """Lines of the pack that somebody would recognise in a text."""
    left = plain(text)
    return [line for line in map(plain, pack.split("\n")) if len(line) >= 20 and line in left]


def is_own(text: str, before: str, after: str) -> bool:
    """Whether nothing is left but what stood around, byte for byte, and signs between."""
    if not plain(before + after):
        return not text
    ends = before + "\n", "\n" + after
    between = re.sub(r"```\w*", "", text[len(ends[0]) : len(text) - len(ends[1])])
    return text.startswith(ends[0]) and text.endswith(ends[1]) and not has_letters(between, 0, len(between))


@settings(max_examples=150, deadline=None)
@given(
    items,
    own,
    own,
    st.lists(st.sampled_from(OF_SIGNS), max_size=2),
    st.lists(st.sampled_from(OF_LAYOUT), max_size=3),
    st.lists(st.sampled_from(ESCAPES), max_size=2),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_a_pack_that_came_back_is_gone(
    bodies: list[str],
    before: str,
    after: str,
    signs: list[Mangle],
    layout: list[Mangle],
    escapes: list[Mangle],
    seed: int,
    is_cut: bool,
) -> None:
    """CP-2: quoted, reflowed, escaped, with other signs and cut at either end; the rest is as it was."""
    chance = random.Random(seed)
    pack = rendered(bodies, seed)
    mangled = cut(pack, chance) if is_cut else pack
    for mangle in signs + layout + escapes:
        mangled = mangle(mangled, chance)
    known = knowing(rendered(["something else that was told"], seed + 1), pack)
    left = stripped(f"{before}\n\n{mangled}\n\n{after}", known, ())
    assert not lines_left(pack, left.text)
    assert left.memory_blocks == 1
    assert is_own(left.text, before, after)


@settings(max_examples=60, deadline=None)
@given(items, items, own, own, st.integers(0, 2**32), st.sampled_from([quoted, indented, fenced, other_signs]))
def test_packs_within_packs_are_gone(
    outer: list[str], inner: list[str], before: str, after: str, seed: int, mangle: Mangle
) -> None:
    """CP-2: an agent's transcript holds what an agent was told, which held what another was told."""
    chance = random.Random(seed)
    one, other = rendered(outer, seed), rendered(inner, seed + 1)
    lines = one.split("\n")
    place = chance.randrange(1, len(lines))
    nested = "\n".join([*lines[:place], mangle(other, chance), *lines[place:]])
    for known in (knowing(one, other), knowing()):
        left = stripped(f"{before}\n\n{nested}\n\n{after}", known, ())
        assert not lines_left(one, left.text) + lines_left(other, left.text)
        assert is_own(left.text, before, after)


@settings(max_examples=60, deadline=None)
@given(items, own, own, st.lists(st.sampled_from([reflowed, quoted, indented, fenced, in_json]), max_size=2))
def test_a_pack_of_another_memory_is_gone_by_its_marker(
    bodies: list[str], before: str, after: str, mangles: list[Mangle]
) -> None:
    """CP-2: whatever is known of it here; no item ends it early, though it would."""
    chance = random.Random(len(before))
    pack = rendered([*bodies, f"and then {CLOSING} came", "the last words of it"], 7)
    mangled = pack
    for mangle in mangles:
        mangled = mangle(mangled, chance)
    left = stripped(f"{before}\n\n{mangled}\n\n{after}", knowing(), ())
    assert not lines_left(pack, left.text)
    assert is_own(left.text, before, after)


@given(items, own, own)
def test_a_pack_of_another_memory_without_one_of_its_markers(bodies: list[str], before: str, after: str) -> None:
    """CP-2: as far as numbered items reach."""
    # Own words stand in a paragraph of their own, as items without empty lines do.
    pack = rendered(bodies, 7)
    for part in (pack.removesuffix(CLOSING), pack.partition("\n")[2]):
        left = stripped(f"{before}\n\n{part.strip()}\n\n{after}", knowing(), ())
        assert not lines_left(pack, left.text)
        assert is_own(left.text, before, after)


ORDINARY = [
    "[1] Smith, J. {Nature}\n[2] https://example.org/a {2026}",
    "1. alice works on alpha\n2. the service restarts nightly",
    "> alice works on alpha\n\nI doubt it.",
    "```python\nprint('[1] x {y}')\n```",
    "The tag `<palimpsest-context>` closes with `</palimpsest-context`, see the docs.",
    "C:\\new\\table &lt;b&gt; \\u0041 [draft] {maybe}",
    "| a | b |\n|---|---|\n| [1] | {2026-08-07} |",
    "«Альфа» выходит по понедельникам — так решили.",
    "<system-reminder> is how they begin, and I think it is odd.",
    "```xml\n<system-reminder>\nexample\n</system-reminder>\n```",
    "   \n\n--- \n🙂",
]
TAGS = ("system-reminder", "tool_call")


@given(st.one_of(st.sampled_from(ORDINARY), own, st.text()), items)
# The name of the marker and words of an item are both the pack's; that an item begins between them is not said here.
@example(text=ORDINARY[4], bodies=["alice alice alice alice", "alice alice alice works"])
def test_what_people_write_stays(text: str, bodies: list[str]) -> None:
    """CP-2: even where they say the same as an item, or quote a part of it."""
    said = "\n".join([text, *bodies[:1], text])
    known = knowing(rendered(bodies, 7))
    for each in (text, said if len(plain(bodies[0])) < 100 else text):
        assert stripped(each, known, TAGS)[1:] == (0, 0)
        assert stripped(each, known, TAGS).text in ("", each)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n<system-reminder>\nx\n\ny\n</system-reminder>\nb", "a\nb"),
        ("> <SYSTEM-REMINDER>x</system-reminder>\nb", "b"),
        ('a\n<tool_call id="1">\n{}\n\nb', "a\n\nb"),
        ("<tool_call>{}</tool_call> and I say b", " and I say b"),
        ("<tool_call>{}</tool_call>", ""),
        ("<other>x</other>", "<other>x</other>"),
    ],
)
def test_blocks_of_services_are_gone(text: str, left: str) -> None:
    """CP-2: by their tags, at the beginning of a line."""
    assert stripped(text, knowing(), TAGS).text == left


def test_what_begins_like_a_pack_goes_on_stays() -> None:
    """CP-2: the cut marker would go on with the letter that own words begin with, and before it as they end."""
    pack = rendered(["alice works on alpha", "the service restarts nightly"], 3)
    cut_behind, cut_before = pack[:-2], pack[4:]
    text = f"{cut_behind}\n\ntea is what I want\n\nthis is pal\n\n{cut_before}"
    assert stripped(text, knowing(pack), ()).text == "\n\ntea is what I want\n\nthis is pal\n\n".removeprefix("\n")


def test_what_stands_on_a_line_with_a_block_stays() -> None:
    """CP-2: in a transcript as JSON the block is one member of many."""
    pack = rendered(["alice works on alpha", "the service restarts nightly"], 3)
    text = json.dumps({"context": pack, "user": "and what now"})
    for known in (knowing(pack), knowing()):
        assert stripped(text, known, ()).text == '{"context": "", "user": "and what now"}'
