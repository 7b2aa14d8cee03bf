"""The rules of one value: what a string, some bytes, a number, an enum or a time must satisfy, as small closures.

A rule takes a value and answers what is wrong with it in words, or an empty string. Words never repeat the value.
"""

import re
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from palimpsest.v1.limits_pb2 import FieldLimits

from shared.json_text import NUL_ESCAPED, SURROGATE_ESCAPED, json_fault

Rule = Callable[[Any], str]

BROKEN_TEXT = "must be UTF-8 text without NUL"
TEXT_FAULTS = frozenset({BROKEN_TEXT, NUL_ESCAPED, SURROGATE_ESCAPED})
"""The faults of the text itself, whatever limits its field has (OB-8)."""

# The ranges that google.protobuf.Timestamp and Duration promise: years 0001 to 9999, and ±10,000 years.
_TIMESTAMP_SECONDS = range(-62_135_596_800, 253_402_300_800)
_DURATION_SECONDS = range(-315_576_000_000, 315_576_000_001)
_NANOS_PER_SECOND = 1_000_000_000


def rule_of(field: FieldDescriptor, limits: FieldLimits) -> Rule | None:
    """The rule of one element of `field`; None where nothing can be wrong. Messages have none here but times."""
    if field.type == FieldDescriptor.TYPE_STRING:
        return text_rule(limits)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _bytes_rule(limits)
    if field.enum_type is not None:
        return _enum_rule(field.enum_type, required=limits.required) if limits.defined_only else None
    if field.message_type is not None:
        return _TIMES.get(field.message_type.full_name)
    return _number_rule(limits)


def text_rule(limits: FieldLimits) -> Rule:
    """NUL is refused always; then the lengths, and only within them the pattern and the JSON."""
    rules = [rule for rule in (_length_rule(limits), _size_rule(limits), _form_rule(limits)) if rule]
    if not rules:
        return lambda text: BROKEN_TEXT if "\0" in text else ""

    def check(text: str) -> str:
        if "\0" in text:
            return BROKEN_TEXT
        for rule in rules:
            fault = rule(text)
            if fault:
                return fault
        return ""

    return check


def length_words(least: int, most: int, unit: str) -> str:
    """`must have 2 to 20 characters`, and so on; `most` 0 is no bound."""
    if not most:
        return f"must have at least {least:,} {unit}"
    return f"must have {least:,} to {most:,} {unit}" if least else f"must have at most {most:,} {unit}"


def _length_rule(limits: FieldLimits) -> Rule | None:
    if not limits.min_length and not limits.max_length:
        return None
    least, most = limits.min_length, limits.max_length or float("inf")
    words = length_words(limits.min_length, limits.max_length, "characters")
    return lambda text: "" if least <= len(text) <= most else words


def _size_rule(limits: FieldLimits) -> Rule | None:
    if not limits.max_bytes:
        return None
    most = int(limits.max_bytes)
    surely_fits = most // 4  # UTF-8 takes at most 4 bytes a character: no need to encode
    words = length_words(0, most, "bytes of UTF-8")
    return lambda text: "" if len(text) <= surely_fits or len(text.encode()) <= most else words


def _form_rule(limits: FieldLimits) -> Rule | None:
    if limits.json:
        return json_fault
    if not limits.pattern:
        return None
    matches = re.compile(limits.pattern, re.ASCII).fullmatch  # RE2's classes are ASCII
    words = f"must match {limits.pattern}"
    return lambda text: "" if matches(text) else words


def _bytes_rule(limits: FieldLimits) -> Rule | None:
    if not limits.max_bytes:
        return None
    most = int(limits.max_bytes)
    words = length_words(0, most, "bytes")
    return lambda data: "" if len(data) <= most else words


def _number_rule(limits: FieldLimits) -> Rule | None:
    has_least, has_most = limits.HasField("minimum"), limits.HasField("maximum")
    if not has_least and not has_most:
        return None
    least = limits.minimum if has_least else float("-inf")
    most = limits.maximum if has_most else float("inf")
    words = f"must be {least:,.15g} to {most:,.15g}"
    if not has_most:
        words = f"must be {least:,.15g} or more"
    elif not has_least:
        words = f"must be {most:,.15g} or less"
    return lambda number: "" if least <= number <= most else words  # false for NaN


def _enum_rule(enum: EnumDescriptor, *, required: bool) -> Rule:
    defined = frozenset(enum.values_by_number) - ({0} if required else set())
    words = f"must be a defined value of {enum.name}"
    return lambda number: "" if number in defined else words


def _timestamp_fault(time: Any) -> str:
    if time.seconds in _TIMESTAMP_SECONDS and 0 <= time.nanos < _NANOS_PER_SECOND:
        return ""
    return "must be a time of the years 0001 to 9999, with 0 to 999,999,999 nanos"


def _duration_fault(duration: Any) -> str:
    same_sign = duration.seconds * duration.nanos >= 0
    if duration.seconds in _DURATION_SECONDS and abs(duration.nanos) < _NANOS_PER_SECOND and same_sign:
        return ""
    return "must be a duration of at most 315,576,000,000 seconds, whose nanos have the sign of its seconds"


_TIMES: dict[str, Rule] = {
    "google.protobuf.Timestamp": _timestamp_fault,
    "google.protobuf.Duration": _duration_fault,
}
