"""Messages that meet the limits, made from the descriptors: a new RPC has one without anybody thinking of it."""

from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from palimpsest.v1 import limits_pb2
from palimpsest.v1.limits_pb2 import FieldLimits

from shared.field_rules import rule_of

_TEXTS = (
    "a",
    "{}",
    "obs-" + "0" * 24,
    "fact-" + "0" * 24,
    "pack-" + "0" * 24,
    "trace-" + "0" * 24,
    "a:b",
    "fp-" + "0" * 24,
)
_MOST_DEPTH = 6


def valid(message_type: Descriptor, namespace: str, depth: int = 0) -> Message:
    """A message in which what is required is set, of a oneof the first member, and each `namespace`."""
    made: Any = message_factory.GetMessageClass(message_type)()
    for field in message_type.fields:
        if field.name == "namespace" and field.type == FieldDescriptor.TYPE_STRING:
            setattr(made, field.name, namespace)
        elif _is_wanted(field) and depth < _MOST_DEPTH:
            _set(made, field, namespace, depth)
    return made  # type: ignore[no-any-return]


def _is_wanted(field: FieldDescriptor) -> bool:
    limits = _limits(field)
    if field.containing_oneof is not None and not field.containing_oneof.name.startswith("_"):
        return bool(field.containing_oneof.fields[0] == field)
    return bool(limits.required or limits.min_items)


def _set(made: Any, field: FieldDescriptor, namespace: str, depth: int) -> None:
    if field.message_type is not None:
        value = valid(field.message_type, namespace, depth + 1)
        if field.is_repeated:
            getattr(made, field.name).append(value)
        else:
            getattr(made, field.name).CopyFrom(value)
        return
    value = _scalar(field, _limits(field))
    if field.is_repeated:
        getattr(made, field.name).append(value)
    else:
        setattr(made, field.name, value)


def _scalar(field: FieldDescriptor, limits: FieldLimits) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        rule = rule_of(field, limits)
        return next(text for text in _TEXTS if rule is None or not rule(text))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"a"
    return True if field.type == FieldDescriptor.TYPE_BOOL else 1


def _limits(field: FieldDescriptor) -> FieldLimits:
    limits: FieldLimits = field.GetOptions().Extensions[limits_pb2.limits]
    return limits
