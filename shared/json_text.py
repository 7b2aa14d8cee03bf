"""What a field with the `json` limit must hold: one JSON text (RFC 8259) that PostgreSQL and every client can keep."""

import json
import re

NUL_ESCAPED = "must not hold NUL, not even escaped"
SURROGATE_ESCAPED = "must not hold a lone surrogate, not even escaped"

# Every escape of a JSON string, so that the backslash of `\\u0000` (a backslash and five characters) is not misread.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")


class _RepeatedKeyError(ValueError):
    """An object repeats a key."""


def json_fault(text: str) -> str:
    """What is wrong with `text` as JSON, in words that repeat nothing of it; empty if nothing is."""
    try:
        _DECODER.decode(text)
    except _RepeatedKeyError:
        return "must not repeat a key within an object"
    except RecursionError:
        return "must not be nested that deeply"
    except json.JSONDecodeError as error:
        return f"must be one JSON text; it fails at line {error.lineno}, column {error.colno}"
    except ValueError:
        return "must be one JSON text; NaN and Infinity are not JSON"
    return _escape_fault(text) if "\\u" in text else ""


def _escape_fault(text: str) -> str:
    low_due_at = -1  # where the low half of a surrogate pair must begin, or -1
    for escape in _ESCAPE.finditer(text):
        unit = int(escape[1], 16) if escape[1] else -1
        is_low = 0xDC00 <= unit <= 0xDFFF
        if unit == 0:
            return NUL_ESCAPED
        if is_low != (low_due_at >= 0) or (is_low and escape.start() != low_due_at):
            return SURROGATE_ESCAPED
        low_due_at = escape.end() if 0xD800 <= unit <= 0xDBFF else -1
    return SURROGATE_ESCAPED if low_due_at >= 0 else ""


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _RepeatedKeyError


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


# Numbers are not converted: their values don't matter here, and Python refuses integers of over 4,300 digits.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_keys, parse_int=len, parse_float=len, parse_constant=_refuse_constant
)
