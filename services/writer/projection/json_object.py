"""JSON objects as their members, each value kept as it was written: no number passes through a double."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from shared.json_text import TOO_DEEP, is_too_deep

# More than any decimal that the contract allows; PostgreSQL's numeric ends at 131,072 digits before and 16,383 behind
# the point.
MAX_DIGITS = 1_200

_SPACE = re.compile(r"[ \t\n\r]*")


def members(text: str) -> dict[str, str]:
    """Returns the members of a JSON object, values as JSON text. The text must be JSON: `check` it where it comes from
    outside.

    Raises:
        ValueError: it is not an object; in words for the caller.
    """
    found: dict[str, str] = {}
    position = _skip(text, 0)
    if text[position] != "{":
        raise ValueError("must be a JSON object")
    position = _skip(text, position + 1)
    while text[position] != "}":
        key, position = _READER.raw_decode(text, position)
        start = _skip(text, _skip(text, position) + 1)
        _, end = _READER.raw_decode(text, start)
        found[key] = text[start:end]
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def text_of(values: Mapping[str, str]) -> str:
    """Returns the JSON object of these members, keys in order, so that equal objects are equal texts."""
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{values[key]}" for key in sorted(values)) + "}"


def check(text: str) -> None:
    """Raises `ValueError`, in words for the caller, where a text is not JSON, or is nested or has numbers beyond what
    the columns of the database hold exactly."""
    if is_too_deep(text):
        raise ValueError(TOO_DEEP)
    try:
        _CHECKER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError("must be one JSON text") from error


def check_number(literal: str) -> None:
    """Raises `ValueError` where a text is no number, or one that written out would be too long to keep exactly."""
    try:
        number = Decimal(literal)
    except InvalidOperation as error:  # no number, or an exponent of 19 digits
        raise ValueError("must be a decimal number of a size that can be kept") from error
    if number.adjusted() > MAX_DIGITS or int(number.as_tuple().exponent) < -MAX_DIGITS:
        raise ValueError(f"must not hold a number of more than {MAX_DIGITS:,} digits before or behind the point")


def _refuse_constant(_: str) -> None:
    raise ValueError("must be one JSON text; NaN and Infinity are not JSON")


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


_CHECKER = json.JSONDecoder(parse_int=check_number, parse_float=check_number, parse_constant=_refuse_constant)
# Numbers are skipped, not converted: Python refuses integers of over 4,300 digits.
_READER = json.JSONDecoder(parse_int=len, parse_float=len)
