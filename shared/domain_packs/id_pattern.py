"""Expressions that find ids and relations in texts. They come from strangers, so they run in RE2, in linear time."""

from typing import Any

import re2

_LARGEST_PROGRAM_BYTES = 1 << 20
KEY_GROUP = "key"
SUBJECT_GROUP, OBJECT_GROUP = "subject", "object"


def compile_pattern(text: str) -> Any:
    """The compiled expression. Raises `ValueError`, in words for the caller."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _LARGEST_PROGRAM_BYTES
    try:
        compiled = re2.compile(text, options)
    except re2.error:
        raise ValueError("must be an expression of RE2, without look-around and back references") from None
    if compiled.match(""):
        raise ValueError("must not match the empty text")
    return compiled


def compile_relation(text: str) -> Any:
    """The compiled expression of a relation. Raises `ValueError`, in words for the caller."""
    compiled = compile_pattern(text)
    if OBJECT_GROUP not in compiled.groupindex:
        raise ValueError("must have a group named object")
    return compiled


def found_ids(pattern: Any, text: str) -> list[str]:
    """What a compiled expression finds, in order: the group `key`, where it took part, else the whole match."""
    has_group = KEY_GROUP in pattern.groupindex
    ids = ((has_group and match.group(KEY_GROUP)) or match.group() for match in pattern.finditer(text))
    return [found for found in ids if found]
