"""Every string of a message, with what the contract says that it is: so that nothing leaves without being looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from palimpsest.v1 import limits_pb2

from shared.personal_data.words import Around

TEXT = limits_pb2.TEXT_ROLE_UNSPECIFIED
IDENTIFIER = limits_pb2.TEXT_ROLE_IDENTIFIER
TOKEN = limits_pb2.TEXT_ROLE_TOKEN
QUESTION = limits_pb2.TEXT_ROLE_QUESTION

_LITERAL = "palimpsest.v1.Literal"
_TYPED_ID = "palimpsest.v1.TypedId"
_ENTITIES = frozenset({"palimpsest.v1.Entity", "palimpsest.v1.EntityAssertion"})
# Fields that tell what the strings beside and below them are about.
_TELLING = frozenset({"title", "heading", "predicate", "relation", "topic"})
# Fields that name the thing that a message tells of.
_NAMING = frozenset({"observation_id", "fact_id", "natural_key", "entity_key", "item_id", "pack_id"})
_LONGEST_CONTEXT = 200


class String(NamedTuple):
    """One string of a message."""

    text: str
    role: int
    is_json: bool
    around: Around
    """What tells what it is: titles, headings, predicates; of the value in a map its key."""
    owner: str
    """Id of the thing that it belongs to; empty where none has one."""
    replace: Callable[[str], None]
    """Puts another text in its place."""


class _Field(NamedTuple):
    role: int
    is_json: bool
    is_map: bool
    is_repeated: bool
    is_text: bool


# The stubs know two unrelated classes of one shape: pure Python's and upb's.
_plans: dict[Any, dict[int, _Field]] = {}


def strings(message: Message, context: str = "", owner: str = "") -> Iterator[String]:
    """The strings of a message and of all inside it, those that servers made as tokens left out. Texts as keys of maps
    are among them, and numbers that a Literal holds."""
    plan = _plans.get(message.DESCRIPTOR) or _compiled(message.DESCRIPTOR)
    present = [(field, plan[field.number], value) for field, value in message.ListFields() if field.number in plan]
    said = [value for field, _, value in present if field.name in _TELLING and isinstance(value, str)]
    context = " ".join([context, *said])[-_LONGEST_CONTEXT:] if said else context
    owner = next((value for field, _, value in present if field.name in _NAMING and isinstance(value, str)), owner)
    if message.DESCRIPTOR.full_name == _LITERAL:
        yield from _number(message, context, owner)
    for field, known, value in present:
        if known.is_map:
            yield from _of_map(value, known, context, owner)
        elif not known.is_text:
            for each in value if known.is_repeated else (value,):
                yield from strings(each, context, owner)
        elif known.role == TOKEN:
            continue
        elif known.is_repeated:
            yield from _of_list(value, known, context, owner)
        else:
            yield String(value, known.role, known.is_json, Around(context=context), owner, _setter(message, field.name))


def named_in(request: Message) -> set[str]:
    """The keys that a request names things by."""
    found = {each.text for each in strings(request) if each.role == IDENTIFIER} | {getattr(request, "namespace", "")}
    return found | set(_typed_keys(request))


def typed_keys(message: Message) -> set[str]:
    """The keys of what a message names by type and id."""
    return set(_typed_keys(message))


def declarations(message: Any) -> Iterator[tuple[Sequence[str], str, Sequence[str], str]]:
    """Of each entity in a message that declares categories: these, its title, its other names and its attributes."""
    if message.DESCRIPTOR.full_name in _ENTITIES:
        if message.pii_categories:
            yield message.pii_categories, message.title, message.aliases, message.attributes
        return
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for each in value if field.is_repeated else (value,):
            yield from declarations(each)


def roles(descriptor: Any) -> dict[str, int]:
    """The role of each string of a message type, by field."""
    plan = _plans.get(descriptor) or _compiled(descriptor)
    by_number = descriptor.fields_by_number
    return {by_number[number].full_name: known.role for number, known in plan.items() if known.is_text}


def _compiled(descriptor: Any) -> dict[int, _Field]:
    plan = {field.number: _known(field) for field in descriptor.fields if _may_hold_text(field)}
    _plans[descriptor] = plan
    return plan


def _known(field: Any) -> _Field:
    options = field.GetOptions()
    return _Field(
        role=options.Extensions[limits_pb2.text_role],
        is_json=options.Extensions[limits_pb2.limits].json,
        is_map=field.message_type is not None and field.message_type.GetOptions().map_entry,
        is_repeated=field.is_repeated,
        is_text=field.type == FieldDescriptor.TYPE_STRING,
    )


def _may_hold_text(field: Any) -> bool:
    if field.type == FieldDescriptor.TYPE_STRING:
        return True
    if field.message_type is None or field.message_type.file.package == "google.protobuf":
        return False
    if field.message_type.GetOptions().map_entry:
        return any(
            each.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE)
            for each in field.message_type.fields
        )
    return True


def _of_list(values: Any, known: _Field, context: str, owner: str) -> Iterator[String]:
    for place, value in enumerate(values):
        replace = lambda text, place=place: values.__setitem__(place, text)  # noqa: E731
        yield String(value, known.role, known.is_json, Around(context=context), owner, replace)


def _of_map(values: Any, known: _Field, context: str, owner: str) -> Iterator[String]:
    if known.role == TOKEN:
        return
    for key in list(values):
        value = values[key]
        if isinstance(value, Message):
            yield from strings(value, context, owner)
        elif isinstance(value, str):
            replace = lambda text, key=key: values.__setitem__(key, text)  # noqa: E731
            yield String(value, known.role, known.is_json, Around(f"{key}: ", context), owner, replace)
        if isinstance(key, str):
            # As an identifier: other keys stay other keys. After the value, which is found by the key.
            yield String(key, IDENTIFIER, False, Around(context=context), owner, _renamer(values, key))


def _number(literal: Any, context: str, owner: str) -> Iterator[String]:
    """A whole number that a Literal holds: masked, it becomes a text."""
    if literal.WhichOneof("value") == "integer":
        yield String(str(literal.integer), QUESTION, False, Around(context=context), owner, _setter(literal, "text"))


def _setter(message: Any, name: str) -> Callable[[str], None]:
    # A decimal that is masked is none any more.
    if message.DESCRIPTOR.full_name == _LITERAL and name == "decimal":
        name = "text"
    return lambda text: setattr(message, name, text)


def _renamer(values: Any, key: str) -> Callable[[str], None]:
    def rename(text: str) -> None:
        value = values[key]
        if isinstance(value, Message):
            values[text].CopyFrom(value)
        else:
            values[text] = value
        del values[key]

    return rename


def _typed_keys(message: Any) -> Iterator[str]:
    if message.DESCRIPTOR.full_name == _TYPED_ID:
        yield f"{message.type}:{message.id}"
        return
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for each in value if field.is_repeated else (value,):
            yield from _typed_keys(each)
