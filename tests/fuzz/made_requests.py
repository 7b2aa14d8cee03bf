"""Requests that nobody would send on purpose, made from the descriptors of the contract and a seed alone.

Most fields of a request are as its limits ask, so that it comes past the first check; the rest is what breaks servers:
what is missing, too long, too many, of an odd kind or out of all ranges, and now and then bytes that are no message.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from palimpsest.v1.limits_pb2 import FieldLimits, choice_required, limits

# Three bytes of UTF-8, as those of a lone surrogate are, which Python would not let into a message.
SURROGATE_MARK = "\ue000"
LONE_SURROGATE = b"\xed\xa0\x80"

MOST_DEPTH = 6
MOST_BYTES = 200_000
NAMESPACE_FIELD = "namespace"

_ODD_TEXTS = (
    "", " ", "a\0b", SURROGATE_MARK, "\u202eright to left\u202c", "\u200b\u200d\ufeff", "é" * 3, "e\u0301", "ёЁ",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "'; DROP TABLE facts; --", "%s%n{}{0}", "a & b | !c <-> (d",
    "\\", '"', "\r\n\t", "ＡＢＣ１２３", "NaN", "null", "-1", "٣٤٥", "2024_123", "../../etc/passwd", "\x1b[31m", "\x7f",
    "İıŞş", "ß", "\u2028\u2029", "x" * 3_000,
)  # fmt: skip
_TEXTS = (
    "deploy",
    "person:ivan",
    "Сервис платежей упал",
    "works_on",
    "service:api",
    "note",
    "role:ops",
    "project:x",
    "en",
)
_JSON = (
    "{}", "[]", '{"a": 1}', "null", "1e400", '{"a": 1, "a": 2}', "{", '"\\ud800"', '"\\u0000"', "9" * 400, "[" * 300,
    '{"n": 9007199254740993, "v": "2024_123", "mixed": [1, "1"]}', "NaN", '{"a": {"b": [1, 2, {"c": null}]}}', "tru",
)  # fmt: skip
_NUMBERS = (0, 1, 2, 10, 100, 1_000, 2**31 - 1, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**64 - 1, -1, -(2**31), -(2**63))
_FLOATS = (0.0, 0.5, 1.0, -0.0, -1.0, 1e308, 5e-324, math.inf, -math.inf, math.nan)
_SECONDS = (0, 1_767_225_600, -62_135_596_800, 253_402_300_799, -62_135_596_801, 253_402_300_800, 2**63 - 1, -(2**63))
_NANOS = (0, 1, 999, 999_999_999, 1_000_000_000, -1, 2**31 - 1)

_RANGES: dict[int, tuple[int, int]] = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


class Requests:
    """Makes requests. `known` are ids, keys and names that a store holds."""

    def __init__(self, seed: int, known: Sequence[str]) -> None:
        self._random = random.Random(seed)
        self._known = tuple(known)
        self._forms: dict[str, Callable[[], str]] = {}

    def encoded(self, descriptor: Descriptor, namespace: str) -> bytes:
        """A request of the type, mostly of `namespace`, as it goes over the wire."""
        made = self.message(descriptor, namespace).SerializeToString().replace(b"\xee\x80\x80", LONE_SURROGATE)
        if self._random.random() < 0.05:
            return self._broken(made)
        return made

    def message(self, descriptor: Descriptor, namespace: str = "", depth: int = 0) -> Message:
        """A message of the type."""
        made = message_factory.GetMessageClass(descriptor)()
        if descriptor.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
            made.seconds, made.nanos = self._random.choice(_SECONDS[:4]), self._random.choice(_NANOS[:4])
            if self._random.random() < 0.1:
                made.seconds, made.nanos = self._random.choice(_SECONDS), self._random.choice(_NANOS)
            return made
        members = self._chosen_members(descriptor, depth)
        for field in descriptor.fields:
            if field.containing_oneof is not None and field.name not in members:
                continue
            if field.name in members or self._is_given(field, depth):
                self._fill(made, field, namespace, depth)
        return made

    def _chosen_members(self, descriptor: Descriptor, depth: int) -> set[str]:
        """Of each oneof at most one member; of one that needs a choice, mostly one."""
        return {
            self._random.choice(oneof.fields).name
            for oneof in descriptor.oneofs
            if self._random.random() < (0.97 if _needs_choice(oneof) else 0.4 / (depth + 1))
        }

    def _is_given(self, field: FieldDescriptor, depth: int) -> bool:
        if limits_of(field).required or limits_of(field).min_items:
            return self._random.random() < 0.97
        return depth < MOST_DEPTH and self._random.random() < 0.5 / (depth + 1)

    def _fill(self, made: Message, field: FieldDescriptor, namespace: str, depth: int) -> None:
        if field.name == NAMESPACE_FIELD and depth == 0 and self._random.random() < 0.9:
            setattr(made, field.name, namespace)
        elif field.is_repeated:
            self._fill_repeated(made, field, depth)
        elif field.message_type is not None:
            getattr(made, field.name).CopyFrom(self.message(field.message_type, namespace, depth + 1))
        else:
            setattr(made, field.name, self._scalar(field))

    def _fill_repeated(self, made: Message, field: FieldDescriptor, depth: int) -> None:
        count, most = self._random.choice((1, 1, 2, 3)), limits_of(field).max_items
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            value = field.message_type.fields_by_name["value"]
            if value.message_type is None:
                for _ in range(count):
                    getattr(made, field.name)[self._random.choice(_TEXTS)] = self._scalar(value)
            return
        if field.message_type is not None:
            for _ in range(count if depth < MOST_DEPTH else 0):
                getattr(made, field.name).append(self.message(field.message_type, "", depth + 1))
            return
        if 0 < most <= 2_100 and self._random.random() < 0.03:
            getattr(made, field.name).extend([self._scalar(field)] * (most + 1))
            return
        getattr(made, field.name).extend(self._scalar(field) for _ in range(count))

    def _scalar(self, field: FieldDescriptor) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return self._text(limits_of(field))
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self._random.randbytes(self._random.choice((0, 1, 24, 1_000)))
        if field.enum_type is not None:
            known = [value.number for value in field.enum_type.values]
            return self._random.choice(known) if self._random.random() < 0.95 else self._random.choice((999, -1))
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return self._random.random() < 0.5
        if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            return self._random.choice(_FLOATS[:3] if self._random.random() < 0.7 else _FLOATS)
        least, most = _RANGES[field.cpp_type]
        given = self._random.choice(_NUMBERS[:5] if self._random.random() < 0.7 else _NUMBERS)
        return min(max(given, least), most)

    def _text(self, bound: FieldLimits) -> str:
        if bound.json and self._random.random() < 0.95:
            return self._random.choice(_JSON)
        drawn = self._random.random()
        if drawn < 0.80:
            return self._fitting(bound)
        if drawn < 0.97:
            return self._random.choice(_ODD_TEXTS)
        most = bound.max_length or int(bound.max_bytes) or 1_000
        return self._random.choice("aя") * min(most + self._random.choice((-1, 0, 1)), MOST_BYTES)

    def _fitting(self, bound: FieldLimits) -> str:
        """A text as the limits ask: what is known, or a word, that the pattern takes; else what is made for it."""
        for _ in range(12):
            text = self._random.choice(self._known + _TEXTS)
            if not bound.pattern or re.fullmatch(bound.pattern, text):
                return text
        return self._made_for(bound.pattern)

    def _made_for(self, pattern: str) -> str:
        hexadecimal = "".join(self._random.choices("0123456789abcdef", k=24))
        for text in (
            f"obs-{hexadecimal}",
            f"fact-{hexadecimal}",
            f"fp-{hexadecimal}",
            f"pack-{hexadecimal}",
            "a",
            "a:b",
            "1.0",
        ):
            if re.fullmatch(pattern, text):
                return text
        return "a"

    def _broken(self, made: bytes) -> bytes:
        """Bytes that are perhaps no message."""
        if not made or self._random.random() < 0.3:
            return self._random.randbytes(self._random.randrange(1, 200))
        at = self._random.randrange(len(made))
        return self._random.choice((made[:at], made[:at] + self._random.randbytes(3) + made[at:], made + made[at:]))


def limits_of(field: FieldDescriptor) -> FieldLimits:
    """What the contract asks of the field."""
    found: FieldLimits = field.GetOptions().Extensions[limits]
    return found


def _needs_choice(oneof: OneofDescriptor) -> bool:
    return bool(oneof.GetOptions().Extensions[choice_required])
