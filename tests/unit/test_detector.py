"""PR-1: what is found of personal data in texts, and what is not."""

from __future__ import annotations

from itertools import groupby, pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.personal_data import score
from bench.personal_samples import POSITIVE, card_digits, inn, snils_digits
from shared.personal_data.detector import find
from shared.personal_data.folding import fold
from shared.personal_data.numbers import numbers
from shared.personal_data.words import Around

FOUND = {
    "phone": (
        "+7 (916) 123-45-67",
        "8 916 123 45 67",
        "8(495)123-45-67",
        "+79161234567",
        "+7 916 123‑45‑67",
        "＋７ ９１６ １２３ ４５ ６７",
        "+7\u00a0916\u202f123-45-67",
        "+7 916\u200b123-45-67",
        "тел. 9161234567",
        "+44 20 7946 0958",
        "(415) 555-2671",
        "https://wa.me/79161234567",
        "tel:+79161234567",
        "https://example.com/?p=%2B7%20916%20123-45-67",
    ),
    "email": (
        "ivan@example.com",
        "Ivan.Petrov+memory@mail.example.co.uk",
        "иван@почта.рф",
        "<ivan@example.com>,",
        "mailto:ivan@example.com?subject=a",
        "ivan＠example.com",
        "?to=ivan%40example.com",
        "a@b.ru",
    ),
    "passport_rf": (
        "паспорт 45 09 123456",
        "Паспорт: серия 4509 № 123456",
        "паспорт серии 45 09 номер 123456",
        "passport 4509 123456",
        "4509 123456, выдан ОВД",
        "паспорт 4509123456",
    ),
    "snils": ("112-233-445 95", "СНИЛС 11223344595", "снилс 112 233 445 95", "087-654-303 00"),
    "card": ("4276 3800 1234 5679", "5555555555554444", "2202-2000-0000-0065", "3782 822463 10005"),
    "inn": ("ИНН 7707083893", "ИНН: 500100732259", "500100732259", "tax id 7707083893"),
}
NOT_FOUND = (
    "1.2.3.4",
    "192.168.100.200",
    "version 10.15.7.8916",
    "build 20260301.123456",
    "2026-03-01T12:30:45.123456Z",
    "20260301123045",
    "202603011230",
    "1767225600",
    "1767225600123",
    "order 9161234567",
    "заказ № 89161234567",
    "INV-89161234567",
    "/issues/9161234567",
    "номер заказа 9161234567",
    "user_id: 79161234567",
    "orderId=79161234567",
    "8 900 000 000 руб.",
    "89 161 234 567 ₽",
    "7.9122451984",
    "fact-123456789012345678901234",
    "3f2b8916123456789012345678901234567890ab",
    "123e4567-e89b-12d3-a456-426614174000",
    "СНИЛС 112-233-445 96",
    "карта 4276 3800 1234 5671",
    "ИНН 7707083894",
    "ИНН 500100732258",
    "+7 216 123-45-67",
    "git@github.com:team/repo.git",
    "icon@2x.png",
    "lodash@4.17.21",
    "@decorator",
    "ssh://git@example.com/repo",
    "user@localhost",
    "4509 123456",
    "паспорт изделия 1234",
    "серия 4, выпуск 12",
    "100000000 строк",
    "12 345 678 901",
)


@pytest.mark.parametrize(("category", "text"), [(each, text) for each, texts in FOUND.items() for text in texts])
def test_what_is_personal_is_found(category: str, text: str) -> None:
    """PR-1: in Russian and English, with spaces, dashes, brackets, no-break spaces, full-width digits."""
    assert [each.category for each in find(text)] == [category]
    assert [each.category for each in find(f"Вчера {text} записали, see below.")] == [category]


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_only_looks_so_is_not_found(text: str) -> None:
    """PR-1: versions, addresses of machines, moments, ids, prices, hashes, wrong check digits."""
    assert not find(text)
    assert not find(f"Смотри {text} в журнале")


@pytest.mark.parametrize("category", POSITIVE)
def test_precision_and_recall(category: str) -> None:
    """PR-1: on a generated set; `bench.personal_data` has the larger one."""
    measured = score(category, 500, seed=20)
    assert measured.recall > 0.985
    assert measured.masked / measured.positives > 0.985
    assert measured.precision > 0.99


_AROUND = st.text(alphabet="абвгдеж xyz.,!?\n—«»", max_size=40)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["email", "card", "snils"]), _AROUND, _AROUND)
def test_a_value_is_found_whatever_stands_around(seed: int, category: str, before: str, behind: str) -> None:
    """PR-1: as a whole, and where it stands."""
    value = POSITIVE[category][0](Random(seed))
    text = f"{before} {value} {behind}"
    start = len(before) + 1
    assert any(one.start <= start and one.end >= start + len(value) for one in find(text)), text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300))
def test_pieces_stand_in_order_and_apart(text: str) -> None:
    """Whatever the text is."""
    pieces = find(text)
    assert all(0 <= one.start < one.end <= len(text) for one in pieces)
    assert all(one.end <= other.start for one, other in pairwise(pieces))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([snils_digits, card_digits, inn]))
def test_one_wrong_check_digit_is_enough(seed: int, make: object) -> None:
    """PR-1: a number is only what its last digit confirms."""
    value = make(Random(seed))  # type: ignore[operator]
    word = {snils_digits: "СНИЛС", card_digits: "card", inn: "ИНН"}[make]  # type: ignore[index]
    assert find(f"{word} {value}")
    wrong = value[:-1] + str((int(value[-1]) + 1) % 10)
    assert not [one for one in find(f"{word} {wrong}") if one.category in ("snils", "card", "inn")]


def test_what_stands_around_tells() -> None:
    """PR-1: the key of a member, the predicate of a fact. A title says what a number is, never that it is none."""
    assert find("9161234567", Around(before='{"phone": "'))
    assert not find("89161234567", Around(before='{"order_id": "'))
    assert find("4509 123456", Around(context="PASSPORT"))
    assert find("89161234567", Around(context="Заказ 12"))


def test_the_nearest_word_decides() -> None:
    """PR-1: a number of an order beside a phone."""
    text = "телефон 9161234567, заказ 9161234568, потом снова тел. 9031234567"
    assert [text[one.start : one.end] for one in find(text)] == ["9161234567", "9031234567"]


@pytest.mark.parametrize(
    "text", ["1 2 3 4 5 6 7 8 9 " * 500, "12-34 56 " * 500, "8-916-" * 500, "9" * 5_000, "+7 916 123-45-67 " * 200]
)
def test_the_work_is_linear(text: str) -> None:
    """No text makes the number of pieces that are looked at grow faster than itself."""
    groups = sum(1 for is_digit, _ in groupby(text, str.isdigit) if is_digit)
    assert sum(1 for _ in numbers(text)) <= 7 * groups


def test_folding_leads_back() -> None:
    """Places in the folded text are places in the original."""
    text = "до +7\u200b916 и ivan%40example.com"
    folded = fold(text)
    start = folded.text.index("ivan@")
    place = folded.original(start, start + len("ivan@example.com"))
    assert text[slice(*place)] == "ivan%40example.com"
