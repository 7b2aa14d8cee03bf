"""Numbers of personal accounts in Russia's pension insurance (СНИЛС): 11 digits, the last two check the others.

Rule: resolution of the Pension Fund's board of 31.07.2006 No. 192p: the sum of the nine digits weighed 9 to 1, modulo
101, where 100 counts as 00; numbers up to 001-001-998 have no check digits.
"""

from __future__ import annotations

from shared.personal_data.numbers import Number
from shared.personal_data.phone import is_phone
from shared.personal_data.words import OTHER, PHONE, SNILS

_LAST_UNCHECKED = 1_001_998
_WRITTEN = (("-", "-", " "), ("-", "-", "-"), (" ", " ", " "), ("-", "-", ""))


def is_snils(number: Number) -> bool:
    """Whether the number is such an account's."""
    if len(number.digits) != 11 or int(number.digits[:9]) <= _LAST_UNCHECKED:
        return False
    if _check_digits(number.digits[:9]) != number.digits[9:]:
        return False
    if number.is_bare and number.said != SNILS:
        # One phone number in a hundred has such check digits.
        is_other = number.has_plus or number.is_joined or number.said == OTHER
        return not is_other and not (number.said == PHONE and is_phone(number))
    return number.said == SNILS or _is_written_so(number)


def _is_written_so(number: Number) -> bool:
    return number.sizes == (3, 3, 3, 2) and number.separators in _WRITTEN


def _check_digits(account: str) -> str:
    total = sum(weight * int(digit) for weight, digit in zip(range(9, 0, -1), account, strict=True))
    return f"{total % 101 % 100:02}"
