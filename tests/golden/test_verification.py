"""RE-15: each sentence of an answer held against a pack, on golden cases."""

from __future__ import annotations

import asyncio
import random

import asyncpg
import pytest

from services.reader.contexts import trace_store
from services.reader.verifying.sentences import sentences
from services.reader.verifying.verdicts import PackedText, Verdict, Verified, verify
from services.reader.verifying.wording import words_of
from shared.embedded_postgres import EmbeddedPostgres
from shared.statements import load_statements
from tests.golden.verification import CASES, Case

SQL = load_statements(trace_store.SQL_FILE)


@pytest.fixture(scope="module")
def stems(postgres: EmbeddedPostgres) -> dict[str, str]:
    """The stems of all words of all cases, as the database gives them."""
    texts = [text for case in CASES for text in (*case.pack, case.answer)]
    words = sorted(set().union(*map(words_of, (*texts, *MORE))))

    async def ask() -> list[str]:
        connection = await asyncpg.connect(postgres.dsn())
        rows = await connection.fetch(SQL.stems, "", [], True, words)
        await connection.close()
        return [row["stem"] for row in rows]

    return dict(zip(words, asyncio.run(ask()), strict=True))


def packed(case: Case) -> list[PackedText]:
    return [PackedText(number, text) for number, text in enumerate(case.pack, start=1)]


def check_places(answer: str, found: list[Verified]) -> None:
    """Sentences are told in order, each by its own characters."""
    assert [each.start for each in found] == sorted(each.start for each in found)
    for each in found:
        assert answer[each.start : each.end] == each.sentence


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_verdicts(case: Case, stems: dict[str, str]) -> None:
    """RE-15: supported with the item's own words, contradicted with them, or not in memory."""
    found = verify(case.answer, packed(case), stems)

    assert [each.verdict.name for each in found] == case.verdicts
    check_places(case.answer, found)
    for each in found:
        is_told = each.verdict is not Verdict.NOT_IN_MEMORY
        assert bool(each.number) == bool(each.quote) == is_told
        assert not is_told or each.quote in case.pack[each.number - 1]
    if case.quotes:
        assert [each.quote for each in found] == case.quotes


MORE = ["alice lives in omsk", "Alice lives in Tula.", "Alice never lives in Tula.", "gateway", "not"]


def test_a_value_of_which_there_is_one(stems: dict[str, str]) -> None:
    """RE-15, FA-7: another object contradicts a fact of a single-valued predicate, and no other fact."""
    text = "alice lives in omsk"
    single, many = PackedText(1, text, value=(15, 19)), PackedText(1, text)

    [one] = verify("Alice lives in Tula.", [single], stems)
    [other] = verify("Alice lives in Tula.", [many], stems)
    [denied] = verify("Alice never lives in Tula.", [single], stems)

    assert (one.verdict, one.number, one.quote) == (Verdict.CONTRADICTED, 1, text)
    assert (other.verdict, denied.verdict) == (Verdict.NOT_IN_MEMORY, Verdict.NOT_IN_MEMORY)


def test_what_is_over_and_what_is_a_guess(stems: dict[str, str]) -> None:
    """RE-15, RE-14, RE-6a: what is told as no longer true contradicts; a hypothesis supports nothing."""
    [over] = verify("Alice lives in Omsk.", [PackedText(3, "alice lives in omsk", is_over=True)], stems)
    [guess] = verify("Alice lives in Omsk.", [PackedText(3, "alice lives in omsk", is_hypothesis=True)], stems)

    assert (over.verdict, over.number) == (Verdict.CONTRADICTED, 3)
    assert guess.verdict is Verdict.NOT_IN_MEMORY


# A citation and an address are not said: changing them changes nothing.
SUPPORTED = [case for case in CASES if case.verdicts == ["SUPPORTED"] and "[" not in case.answer]


@pytest.mark.parametrize("case", SUPPORTED, ids=[case.name for case in SUPPORTED])
def test_no_change_of_number_or_negation_is_supported(case: Case, stems: dict[str, str]) -> None:
    """RE-15: precision before recall, on every supported case: a digit changed, a negation put in anywhere, any two
    words swapped."""
    words = [word for word in case.answer.split() if any(map(str.isalnum, word))]
    changed = [
        case.answer.replace(digit, str((int(digit) + 1) % 10)) for digit in set(filter(str.isdigit, case.answer))
    ]
    changed += [" ".join((*words[:place], "not", *words[place:])) for place in range(1, len(words))]
    swapped = [
        " ".join((*words[:one], words[other], *words[one + 1 : other], words[one], *words[other + 1 :]))
        for one in range(len(words))
        for other in range(one + 1, len(words))
        if words[one].strip(".*`,").casefold() != words[other].strip(".*`,").casefold()
        and not {words[one].casefold(), words[other].casefold()} & {"a", "the"}
    ]

    for answer in (*changed, *swapped):
        assert Verdict.SUPPORTED not in {each.verdict for each in verify(answer, packed(case), stems)}, answer


def test_long_answers(stems: dict[str, str]) -> None:
    """RE-15: 100,000 characters, in many sentences and in one; the places stay right."""
    pack = [PackedText(1, "Alice works on alpha.")]
    many = ("Alice works on alpha. Bob left. " * 4_000)[:100_000]
    one = ("alice " * 20_000)[:100_000]
    spaces = (" \u00a0.!?\n" * 20_000)[:100_000]

    found = verify(many, pack, stems)
    check_places(many, found)
    assert [each.verdict.name for each in found[:4]] == ["SUPPORTED", "NOT_IN_MEMORY"] * 2
    assert [each.verdict.name for each in verify(one, pack, stems)] == ["NOT_IN_MEMORY"]
    assert verify(spaces, pack, stems) == []


def test_sentences_lose_nothing_but_marks() -> None:
    """RE-15: whatever the text, every letter and digit is in one sentence."""
    random.seed(7)
    pieces = [
        "Да. ",
        "No! ",
        "1. ",
        "- ",
        "\n",
        "г. ",
        "e.g. ",
        "A. ",
        "**x** ",
        "[1] ",
        "«Что?» ",
        "# ",
        "3.5 ",
        "… ",
        "слово ",
    ]
    for _ in range(300):
        text = "".join(random.choices(pieces, k=12))
        covered = {place for each in sentences(text) for place in range(each.start, each.end)}
        letters = {place for place, character in enumerate(text) if character.isalpha()}
        assert letters <= covered, text
