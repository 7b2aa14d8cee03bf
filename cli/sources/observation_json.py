"""Observations as protobuf JSON: parsed strictly, with the path of everything that is wrong."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.governance_pb2 import CapturedMessage
from palimpsest.v1.observation_pb2 import Observation

# RFC 3339 asks for the offset: a time without one is another moment in each zone.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?P<fraction>\.\d+)?(?P<offset>[Zz]|[+-]\d\d:\d\d)?")
_TIMESTAMP = "google.protobuf.Timestamp"
M = TypeVar("M", bound=Message)

_TEXT_TYPES = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
# protobuf's own parser goes no deeper.
_DEEPEST = 100


class RefusedLine(Exception):
    """A text does not hold the message that is wanted; the error names each field that is wrong."""


@dataclass(frozen=True)
class Line:
    """What a line of JSON says."""

    namespace: str
    observation: Observation


def parse_line(text: bytes, default_namespace: str) -> Line:
    """Reads `{"namespace": …, …fields of Observation}`. Raises RefusedLine."""
    fields = _object(text)
    namespace = fields.pop("namespace", default_namespace)
    if not isinstance(namespace, str):
        raise RefusedLine("namespace: must be a string")
    return Line(namespace, _parsed(fields, Observation))


def parse_captured(text: bytes, default_conversation: str) -> tuple[str, CapturedMessage]:
    """Reads `{"conversation_id": …, …fields of CapturedMessage}`. Raises RefusedLine."""
    fields = _object(text)
    conversation = fields.pop("conversation_id", default_conversation)
    if not isinstance(conversation, str) or not conversation:
        raise RefusedLine("conversation_id: must be a string, or be given by --conversation")
    return conversation, _parsed(fields, CapturedMessage)


def parse_message(text: bytes, kind: type[M]) -> M:
    """Reads a message of the contract as protobuf JSON. Raises RefusedLine."""
    return _parsed(_object(text), kind)


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RefusedLine(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RefusedLine(f"not JSON: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError):  # ValueError: a number of thousands of digits
        raise RefusedLine("not JSON that can be read: nested too deeply, or a number too long") from None
    if not isinstance(value, dict):
        raise RefusedLine("must be a JSON object")
    return value


def _parsed(fields: dict[str, Any], kind: type[M]) -> M:
    wrong = list(_wrong_fields(fields, kind.DESCRIPTOR, ""))
    if wrong:
        raise RefusedLine("; ".join(wrong))
    try:
        return json_format.ParseDict(fields, kind())
    except json_format.ParseError as error:
        raise RefusedLine(" ".join(str(error).split())) from None
    except (ValueError, TypeError, RecursionError):
        raise RefusedLine(f"no {kind.DESCRIPTOR.name} as protobuf JSON") from None


def _wrong_fields(fields: dict[str, Any], kind: Any, path: str) -> Iterator[str]:
    """What protobuf's parser would refuse, too, but without saying where."""
    if path.count(".") > _DEEPEST:
        yield f"{path[:80]}…: nested too deeply"
        return
    known = {name: field for field in kind.fields for name in (field.name, field.json_name)}
    for name, value in fields.items():
        field = known.get(name)
        if field is None:
            yield f"{path}{name}: there is no such field; there are {', '.join(f.name for f in kind.fields)}"
        elif value is not None:
            yield from _wrong_value(value, field, f"{path}{field.name}")


def _wrong_value(value: Any, field: FieldDescriptor, path: str) -> Iterator[str]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        yield from _wrong_map(value, path)
    elif not field.is_repeated:
        yield from _wrong_single(value, field, path)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _wrong_single(item, field, f"{path}[{place}]")
    else:
        yield f"{path}: must be a list"


def _wrong_map(value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: must be an object of strings"
        return
    yield from (f'{path}["{key}"]: must be a string' for key, item in value.items() if not isinstance(item, str))


def _wrong_single(value: Any, field: FieldDescriptor, path: str) -> Iterator[str]:
    if field.message_type is not None and field.message_type.full_name == _TIMESTAMP:
        yield from _wrong_moment(value, path)
    elif field.message_type is not None:
        if isinstance(value, dict):
            yield from _wrong_fields(value, field.message_type, f"{path}.")
        else:
            yield f"{path}: must be an object"
    elif field.type in _TEXT_TYPES:
        yield from _wrong_text(value, path)
    elif field.enum_type is not None:
        yield from _wrong_enum(value, field, path)


def _wrong_text(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield f"{path}: must be a string; JSON goes into it as text"
    elif not isinstance(value, str):
        yield f"{path}: must be a string"
    elif any("\ud800" <= character <= "\udfff" for character in value):
        yield f"{path}: holds a lone surrogate, which no UTF-8 text can hold"


def _wrong_moment(value: Any, path: str) -> Iterator[str]:
    moment = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if moment is None:
        yield f"{path}: must be a time like 2026-03-01T00:30:00+03:00"
    elif moment["offset"] is None:
        yield f"{path}: the time has no offset: add Z for UTC, or one like +03:00"
    else:
        yield from _wrong_date(value, path)


def _wrong_date(value: str, path: str) -> Iterator[str]:
    try:
        Timestamp().FromJsonString(value)
    except ValueError as error:
        yield f"{path}: not a moment between the years 0001 and 9999: {error}"


def _wrong_enum(value: Any, field: FieldDescriptor, path: str) -> Iterator[str]:
    assert field.enum_type is not None
    if isinstance(value, str) and value not in field.enum_type.values_by_name:
        yield f"{path}: must be one of {', '.join(field.enum_type.values_by_name)}"
