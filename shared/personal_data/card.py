"""Numbers of payment cards: a known issuer's digits, Luhn's check digit (ISO/IEC 7812-1)."""

from __future__ import annotations

import re

from stdnum import luhn

from shared.personal_data.numbers import Number
from shared.personal_data.words import CARD, OTHER

# Ranges of issuers and the lengths that their cards have: https://en.wikipedia.org/wiki/Payment_card_number
_ISSUED = re.compile(
    r"4[0-9]{15}"  # Visa; its cards of 13 and 19 digits are rarer than the bar codes that look like them
    r"|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"  # Mastercard
    r"|220[0-4][0-9]{12,15}"  # Mir
    r"|3[47][0-9]{13}"  # American Express
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}"  # Diners Club
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}"  # JCB
    r"|62[0-9]{14,17}"  # UnionPay
    r"|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}"  # Discover
    r"|(?:50|5[6-8]|6[37])[0-9]{14}"  # Maestro of the common length
)


def is_card(number: Number) -> bool:
    """Whether the number is a card's. The word before it may say of digits without marks that they are none."""
    if not (_ISSUED.fullmatch(number.digits) and _is_written_so(number) and luhn.is_valid(number.digits)):
        return False
    return number.said == CARD or not (number.is_bare and (number.is_joined or number.said == OTHER))


def _is_written_so(number: Number) -> bool:
    """Whether digits stand together, by four, or as on cards of 14 and 15 digits, always with the same mark between."""
    if number.is_bare:
        return True
    if len(set(number.separators)) > 1 or number.separators[0].strip(" -"):
        return False
    sizes = number.sizes
    return sizes in ((4, 6, 5), (4, 6, 4), (8, 8)) or (set(sizes[:-1]) == {4} and sizes[-1] <= 4)
