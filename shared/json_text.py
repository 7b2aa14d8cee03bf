"""What a field with the `json` limit must hold: one JSON text (RFC 8259) that PostgreSQL and every client can keep."""

import json
import re

# Fixed, so that what is refused does not depend on how deep the reader's own stack is.
MAX_DEPTH = 200
NUL_ESCAPED = "must not hold NUL, not even escaped"
TOO_DEEP = f"must not be nested deeper than {MAX_DEPTH}"
SURROGATE_ESCAPED = "must not hold a lone surrogate, not even escaped"

# Every escape of a JSON string, so that the backslash of `\\u0000` (a backslash and five characters) is not misread.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")

_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{\]}]', re.DOTALL)


class _RepeatedKeyError(ValueError):
    """An object repeats a key."""


def json_fault(text: str) -> str:
    """What is wrong with `text` as JSON, in words that repeat nothing of it; empty if nothing is."""
    if is_too_deep(text):
        return TOO_DEEP
    try:
        _DECODER.decode(text)
    except _RepeatedKeyError:
        return "must not repeat a key within an object"
    except json.JSONDecodeError as error:
        return f"must be one JSON text; it fails at line {error.lineno}, column {error.colno}"
    except ValueError:
        return "must be one JSON text; NaN and Infinity are not JSON"
    return _escape_fault(text) if "\\u" in text else ""


def is_too_deep(text: str) -> bool:
    """Whether arrays and objects are nested deeper than MAX_DEPTH; the text need not be JSON."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        mark = match[0]
        if mark[0] != '"':
            depth += 1 if mark in "[{" else -1
            deepest = max(deepest, depth)
    return deepest > MAX_DEPTH


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
