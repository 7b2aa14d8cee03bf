"""Phone numbers, by the numbering plans that `phonenumbers` has."""

from __future__ import annotations

import re

import phonenumbers
from phonenumbers.phonenumberutil import NumberParseException

from shared.personal_data.numbers import Number
from shared.personal_data.words import OTHER, PHONE

HOME = "RU"
"""Numbers of this region are found as people there write them among themselves."""
ABROAD = ("US", "GB", "DE", "FR", "KZ", "BY", "UA", "UZ", "IL", "TR", "CN", "IN")
"""Numbers of these, where a word says so or groups of digits do; all others, where they begin with a plus."""

_MOST_DIGITS = 15
_LONGEST_ABROAD = 12
_MONEY = re.compile(r"\s?(?:₽|руб|р\.|\$|€|usd|eur|rub|тыс|млн|шт)", re.IGNORECASE)
# How ten digits are written behind a trunk prefix or a word; and the forms that tell a phone by themselves.
_WRITTEN_ALONE = frozenset({(3, 3, 4), (3, 3, 2, 2), (3, 2, 2, 3), (4, 2, 2, 2), (5, 1, 2, 2)})
_WRITTEN = _WRITTEN_ALONE | {(10,), (3, 7), (3, 2, 5), (4, 6), (4, 3, 3), (5, 5), (5, 3, 2), (3, 2, 3, 2), (3, 4, 3)}
_AMERICAN = ((3, 3, 4), (1, 3, 3, 4))


def is_phone(number: Number) -> bool:
    """Whether the number is a phone's."""
    if number.has_plus:
        return len(number.digits) <= _MOST_DIGITS and _is_valid("+" + number.digits, None)
    if number.separators == (".",) or _MONEY.match(number.text, number.end):
        return False
    return _is_at_home(number) or _is_abroad(number)


def _may_be(number: Number) -> bool:
    """Whether no word and no name that it is a part of says otherwise; of digits in groups only a word for another kind
    of personal data does."""
    if number.said == PHONE:
        return True
    return not (number.is_joined or number.is_in_path or (number.said and (number.is_bare or number.said != OTHER)))


def phone_start(number: Number) -> int:
    """Where a phone's number begins: with its plus, or the bracket around its first digits."""
    if number.has_plus:
        return number.plus_at if number.plus_at is not None else number.start
    is_in_brackets = any(")" in each for each in number.separators[:1])
    return number.start - 1 if is_in_brackets and number.text[number.start - 1 : number.start] == "(" else number.start


def _is_at_home(number: Number) -> bool:
    digits, sizes = number.digits, number.sizes
    if len(digits) == 11 and digits[0] in "78":
        sizes = sizes[1:] if sizes[0] == 1 else (sizes[0] - 1, *sizes[1:])
        digits, is_told = digits[1:], digits[1] == "9" or digits.startswith("8800") or not number.is_bare
    else:
        is_told = sizes in _WRITTEN_ALONE or ")" in "".join(number.separators[:1])
    # What costs least is asked first: of most runs of digits the form alone says no.
    if len(digits) != 10 or digits[0] not in "3489" or sizes not in _WRITTEN:
        return False
    return (is_told or number.said == PHONE) and _may_be(number) and _is_valid("+7" + digits, HOME)


def _is_abroad(number: Number) -> bool:
    if number.sizes in _AMERICAN and not number.separators[-1].strip("-."):
        return _may_be(number) and _is_valid(number.digits, ABROAD[0])
    if not number.digits.startswith("0") or len(number.digits) > _LONGEST_ABROAD or number.said != PHONE:
        return False
    return any(_is_valid(number.digits, region) for region in ABROAD)


def _is_valid(digits: str, region: str | None) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))
    except NumberParseException:
        return False
