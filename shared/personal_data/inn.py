"""Taxpayer numbers of Russia: 12 digits of a person, 10 of an organisation, with check digits."""

from __future__ import annotations

import re

from stdnum.ru import inn

from shared.personal_data.numbers import Number
from shared.personal_data.words import INN, OTHER

# A moment written in digits: `202603011230`.
_MOMENT = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{4}")


def is_inn(number: Number) -> bool:
    """Whether the number is a taxpayer's. An organisation's is one only where a word says so: one in ten numbers of ten
    digits has the check digit."""
    digits = number.digits
    if len(digits) not in (10, 12) or digits.startswith("00") or not inn.is_valid(digits):
        return False
    return number.said == INN or (number.said != OTHER and _stands_alone(number))


def _stands_alone(number: Number) -> bool:
    return number.is_bare and not number.is_joined and len(number.digits) == 12 and not _MOMENT.fullmatch(number.digits)
