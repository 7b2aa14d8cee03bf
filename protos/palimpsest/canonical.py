"""The canonical form of the contract's messages: one injective byte string per content, in any language.

The rules stand in the comment of `palimpsest.v1.Observation`; this module is their reference implementation.
"""

import json
import struct
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from palimpsest.v1 import limits_pb2

TIMESTAMP = "google.protobuf.Timestamp"
_MICROSECOND_NS = 1_000


def nfc(text: str) -> str:
    """Returns `text` in Unicode NFC; ASCII comes back as it is."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def pack(*parts: str) -> bytes:
    """Joins parts so that no part can pretend to be two: each as `length:bytes` of its UTF-8 in NFC."""
    return b"".join(_sized(nfc(part).encode()) for part in parts)


def canonical_message(message: Message, leave_out: Iterable[str] = ()) -> bytes:
    """Returns the canonical form of a message without the named top-level fields.

    Raises:
        ValueError: a field with the `json` option does not hold JSON.
    """
    skipped = frozenset(leave_out)
    out: list[bytes] = [b"{"]
    # By rising number, as protobuf lists them.
    for field, value in message.ListFields():
        if not skipped or field.name not in skipped:
            head, form = _forms.get(field) or _compiled(field)
            out.append(head)
            out.append(form(value))
    out.append(b"}")
    return b"".join(out)


def canonical_json(text: str) -> bytes:
    """Returns the canonical form of a JSON text; numbers keep their literal, so that no digit is lost.

    Raises:
        ValueError: the text is not JSON.
    """
    return _json(_DECODER.decode(text))


def timestamp_us(value: Any) -> int:
    """Returns microseconds since 1970 of a protobuf Timestamp; finer digits are cut towards the past."""
    return int(value.seconds) * 1_000_000 + int(value.nanos) // _MICROSECOND_NS


class _Number(str):
    """The literal of a JSON number."""


def _refuse_constant(literal: str) -> None:
    raise ValueError(f"{literal} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_refuse_constant)


def _sized(data: bytes) -> bytes:
    return b"%d:%b" % (len(data), data)


def _string(text: str) -> bytes:
    return _sized(nfc(text).encode())


def _json(value: Any) -> bytes:
    if isinstance(value, _Number):
        return b"n%b;" % str(value).encode()
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict):
        pairs = sorted((nfc(key), item) for key, item in value.items())
        return b"(%b)" % b"".join(_string(key) + _json(item) for key, item in pairs)
    if isinstance(value, list):
        return b"[%b]" % b"".join(map(_json, value))
    return {True: b"T", False: b"F", None: b"N"}[value]


def _is_json(field: FieldDescriptor) -> bool:
    # The stub types an extension by its field, which the generator does not name so.
    return bool(field.GetOptions().Extensions[limits_pb2.limits].json)  # type: ignore[index]


_Form = Callable[[Any], bytes]
"""The canonical form of a field's value."""

# What stands before a field's value, and its form: descriptors answer too slowly to be asked for each value.
_forms: dict[FieldDescriptor, tuple[bytes, _Form]] = {}


def _compiled(field: FieldDescriptor) -> tuple[bytes, _Form]:
    _forms[field] = compiled = (b"%d=" % field.number, _form(field))
    return compiled


def _form(field: FieldDescriptor) -> _Form:
    message_type = field.message_type
    if message_type is not None and message_type.GetOptions().map_entry:
        return _map_form(message_type)
    each = _scalar_form(field)
    if not field.is_repeated:
        return each
    if field.name == "scopes":
        return lambda values: b"[%b]" % b"".join(map(each, sorted(set(map(nfc, values)))))
    return lambda values: b"[%b]" % b"".join(map(each, values))


def _map_form(entry: Descriptor) -> _Form:
    each = _scalar_form(entry.fields_by_name["value"])

    def form(values: Any) -> bytes:
        pairs = sorted(((nfc(str(key)), key) for key in values), key=lambda pair: pair[0])
        return b"(%b)" % b"".join(_string(name) + each(values[key]) for name, key in pairs)

    return form


def _scalar_form(field: FieldDescriptor) -> _Form:
    if field.message_type is not None:
        return _timestamp if field.message_type.full_name == TIMESTAMP else canonical_message
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        if field.type == FieldDescriptor.TYPE_BYTES:
            return _sized
        return canonical_json if _is_json(field) else _string
    if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return _float
    return lambda value: b"i%d;" % int(value)


def _timestamp(value: Any) -> bytes:
    return b"t%d;" % timestamp_us(value)


def _float(value: float) -> bytes:
    return b"d%b;" % struct.pack(">d", value + 0.0).hex().encode()
