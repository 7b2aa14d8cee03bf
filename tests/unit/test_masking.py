"""PR-1: how personal data is masked in texts, in JSON and in keys; how tokens are sealed."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.personal_samples import POSITIVE
from shared.personal_data.masking import Masking, declared_values, mask_of
from shared.personal_data.sealing import seal, unseal


def masked(text: str, **options: bool) -> str:
    masking = Masking(b"secret")
    masking.seek(text, is_json=options.get("is_json", False))
    return masking.mask(text, **options)


def test_a_mask_tells_the_category_alone() -> None:
    """PR-1: no digit, no length."""
    text = "тел. +7 916 123-45-67, почта ivan@example.com, паспорт 4509 123456, СНИЛС 112-233-445 95"
    assert masked(text) == "тел. [phone], почта [email], паспорт [passport], СНИЛС [snils]"
    assert masked("ИНН 500100732259 и карта 5555 5555 5555 4444") == "ИНН [inn] и карта [card]"


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(POSITIVE)))
def test_a_mask_is_never_longer(seed: int, category: str) -> None:
    """RE-6: a pack that kept its budget keeps it when it is masked."""
    value = POSITIVE[category][0](Random(seed))
    assert len(mask_of(category, len(value))) <= len(value)
    assert len(masked(f"паспорт, тел., ИНН {value}")) <= len(f"паспорт, тел., ИНН {value}")


_PLANTED_TEXTS = st.sampled_from(["8 916 123-45-67", "a@b.ru", "112-233-445 95", "v1.2.3"])
_PLANTED_NUMBERS = st.sampled_from([79161234567, 5555555555554444, 2**60])
# Words that say nothing of a number, and no others: a key may say that it is that of an order. A few digits are in many
# a number.
_SILENT = st.one_of(
    st.sampled_from(["note", "комментарий", "x"]),
    st.text(st.characters(exclude_categories=["L", "N", "Cs"], exclude_characters="#№"), max_size=12),
)


def _json(texts: st.SearchStrategy[str], numbers: st.SearchStrategy[int]) -> st.SearchStrategy[object]:
    return st.recursive(
        st.one_of(texts, numbers, st.booleans(), st.none()),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
        max_leaves=12,
    )


_ANY = _json(
    st.one_of(_PLANTED_TEXTS, st.text(max_size=12)), st.one_of(_PLANTED_NUMBERS, st.integers(-(10**20), 10**20))
)
_NOTHING_ELSE = _json(st.one_of(_PLANTED_TEXTS, _SILENT), st.one_of(_PLANTED_NUMBERS, st.integers(-999, 999)))


@settings(max_examples=200, deadline=None)
@given(_ANY, st.booleans())
def test_json_stays_json(value: object, is_ascii: bool) -> None:
    """PR-1, OB-8: whatever is masked; keys stay apart."""
    found = json.loads(masked(json.dumps(value, ensure_ascii=is_ascii), is_json=True))
    assert type(found) is type(value) or isinstance(found, str)
    if isinstance(value, dict) and isinstance(found, dict):
        assert len(found) == len(value)


@settings(max_examples=200, deadline=None)
@given(_NOTHING_ELSE, st.booleans())
def test_nothing_of_it_stays_in_json(value: object, is_ascii: bool) -> None:
    """PR-1, OB-8: wherever it stands, as a key, a text or a number; a number that is nobody's keeps every digit."""
    text = json.dumps(value, ensure_ascii=is_ascii)
    found = masked(text, is_json=True)
    for planted in ("916123", "916 123", "a@b.ru", "112-233-445", "5555555555554444"):
        assert planted not in found
    assert found.count(str(2**60)) == text.count(str(2**60))


def test_what_is_not_masked_stays_byte_for_byte() -> None:
    """OB-8: spaces, escapes and numbers of the rest."""
    text = '{ "n" : 9007199254740993,  "e": "\\u0041", "phone":"+7 916 123-45-67" }'
    assert masked(text) == text.replace("+7 916 123-45-67", "[phone]")


def test_an_escaped_value_is_found() -> None:
    """PR-1: JSON can write any character as an escape."""
    assert masked('{"m": "ivan\\u0040example.com"}') == '{"m": "[email]"}'


def test_a_number_becomes_a_text() -> None:
    """PR-1: a phone as a number of JSON."""
    assert masked('{"phone": 79161234567, "order_id": 79161234567}') == '{"phone": "[phone]", "order_id": "[phone]"}'
    assert masked('{"order_id": 79161234567}') == '{"order_id": 79161234567}'


def test_what_one_text_tells_is_masked_in_all() -> None:
    """PR-1: a number without a word, in the value of a fact, whose sentence has the word."""
    masking = Masking()
    assert masking.seek("ivan PASSPORT 4509 123456")
    assert masking.mask("4509 123456") == "[passport]"


def test_keys_are_told_apart_and_not_told() -> None:
    """PR-1: equal values have equal masks in every answer, however they are written; of another namespace others."""
    one, other = Masking(b"secret"), Masking(b"another")
    key = one.mask("person:ivan@example.com", is_identifier=True)
    assert key.startswith("person:[email:")
    assert key == Masking(b"secret").mask("person:IVAN@example.com", is_identifier=True)
    assert key != one.mask("person:petr@example.com", is_identifier=True)
    assert key != other.mask("person:ivan@example.com", is_identifier=True)
    assert one.mask("p:+7 916 123-45-67", is_identifier=True) == one.mask("p:89161234567", is_identifier=True)


def test_declared_values_are_masked_where_they_stand() -> None:
    """PR-1: a name in any case, with any spaces, ё as е, as a whole word."""
    declared = declared_values(
        ["fio", "home_address"],
        "Семён Рукавишников",
        ["Сёма"],
        '{"homeAddress": {"city": "Тверь", "house": 7}, "role": "инженер"}',
    )
    assert declared == {"Семён Рукавишников": "fio", "Сёма": "fio", "Тверь": "home_address"}
    masking = Masking(declared=declared)
    assert masking.mask("СЕМЕН  Рукавишников, Тверь, инженер; Семёнов") == "[fio], …, инженер; Семёнов"
    assert not Masking(declared={}).seek("Семён Рукавишников")


def test_without_a_category_nothing_is_declared() -> None:
    """PR-1: an attribute is personal where its category is declared, and the title with `fio` alone."""
    assert declared_values(["phone"], "Ivan", [], '{"phone": "12-34", "name": "x"}') == {"12-34": "phone"}


@given(st.text(max_size=200), st.binary(min_size=1, max_size=32))
def test_a_sealed_token_opens_with_its_secret(token: str, secret: bytes) -> None:
    """PR-1: and tells nothing to who has not it."""
    sealed = seal(secret, token)
    assert unseal(secret, sealed) == token
    assert sealed == seal(secret, token)


@pytest.mark.parametrize(
    "broken", ["", "AAAA", "Ab", "é", seal(b"other", "position"), seal(b"s", "position")[:-4] + "AAAA"]
)
def test_a_token_that_was_not_sealed_is_refused(broken: str) -> None:
    """It is no position of anything."""
    with pytest.raises(ValueError):  # noqa: PT011 - what base64 says is told by nobody
        unseal(b"s", broken)
