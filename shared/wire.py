"""Tolerant decoding: text that is not UTF-8 becomes NUL bytes, so that validation can name its field (OB-8).

A message with one broken string is refused whole by protobuf, without the field's name and with the batch around it.
Here the broken bytes are found by walking the wire format along the descriptor, and replaced by as many NUL bytes:
no length changes, the neighbours survive, and NUL is what validation refuses with the field's path.
"""

import codecs
from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from shared.errors import UndecodableMessage

# The stubs know two unrelated classes of one shape: pure Python's and upb's.
AnyDescriptor = Any
MessageT = TypeVar("MessageT", bound=Message)

_VARINT, _FIXED64, _DELIMITED, _GROUP_START, _GROUP_END, _FIXED32 = range(6)
_DEEPEST = 100  # protobuf's own limit
# The walk is Python and runs on the event loop: what no honest batch reaches is refused, not walked.
_MOST_FIELDS = 1_000_000


def decode(message_type: type[MessageT], raw: bytes) -> MessageT:
    """The message in `raw`; text that is not UTF-8 comes with NUL bytes in it. Raises UndecodableMessage."""
    try:
        return message_type.FromString(raw)
    except DecodeError:
        pass
    try:
        return message_type.FromString(with_nul_for_broken_text(raw, message_type.DESCRIPTOR))
    except DecodeError:
        raise UndecodableMessage from None


def with_nul_for_broken_text(raw: bytes, descriptor: AnyDescriptor) -> bytes:
    """`raw` with each byte of a string field that is not UTF-8 replaced by NUL. Raises UndecodableMessage."""
    repaired = bytearray(raw)
    try:
        _Walk(repaired).message(0, len(repaired), descriptor, depth=0)
    except IndexError:
        raise UndecodableMessage from None
    return bytes(repaired)


def _nul_for_broken_bytes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\0" * (error.end - error.start), error.end


codecs.register_error("palimpsest_nul", _nul_for_broken_bytes)


class _Walk:
    """One pass over a message; `data[position]` beyond the end raises IndexError, which means: not protobuf."""

    def __init__(self, data: bytearray) -> None:
        self._data = data
        self._fields_left = _MOST_FIELDS

    def message(self, start: int, end: int, descriptor: AnyDescriptor, depth: int) -> None:
        """Repairs the strings of the message that lies in [start, end), and of the messages inside it."""
        if depth > _DEEPEST:
            raise UndecodableMessage
        fields = descriptor.fields_by_number
        for number, first, last in self._delimited(start, end):
            field = fields.get(number)
            if field is None:
                continue
            if field.type == FieldDescriptor.TYPE_STRING:
                self._text(first, last)
            elif field.type == FieldDescriptor.TYPE_MESSAGE and field.message_type is not None:
                self.message(first, last, field.message_type, depth + 1)

    def _text(self, first: int, last: int) -> None:
        text = self._data[first:last]
        try:
            text.decode()
        except UnicodeDecodeError:
            self._data[first:last] = text.decode("utf-8", "palimpsest_nul").encode()

    def _delimited(self, position: int, end: int) -> Iterator[tuple[int, int, int]]:
        """(field number, start, end) of each length-delimited field; skips all others, groups with their content."""
        groups = 0
        while position < end:
            self._spend_one_field()
            key, position = self._varint(position)
            wire_type = key & 7
            if wire_type == _DELIMITED:
                length, position = self._varint(position)
                if position + length > end:
                    raise UndecodableMessage
                if not groups:
                    yield key >> 3, position, position + length
                position += length
            else:
                position, groups = self._skip(position, wire_type, groups)

    def _skip(self, position: int, wire_type: int, groups: int) -> tuple[int, int]:
        if wire_type == _VARINT:
            return self._varint(position)[1], groups
        if wire_type == _FIXED64:
            return position + 8, groups
        if wire_type == _FIXED32:
            return position + 4, groups
        if wire_type in (_GROUP_START, _GROUP_END):
            return position, groups + (1 if wire_type == _GROUP_START else -1)
        raise UndecodableMessage

    def _varint(self, position: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = self._data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7
            if shift > 63:
                raise UndecodableMessage

    def _spend_one_field(self) -> None:
        self._fields_left -= 1
        if not self._fields_left:
            raise UndecodableMessage
