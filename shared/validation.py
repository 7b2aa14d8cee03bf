"""Checks messages against the limits that the contract declares on their fields (`limits.proto`).

Each message type is compiled once to a plan: what must be there, and a check per field. A message is then walked over
the fields that it has, so that a large type costs nothing where it is empty.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from palimpsest.v1 import limits_pb2
from palimpsest.v1.limits_pb2 import FieldLimits

from shared.errors import Violation, invalid
from shared.field_rules import TEXT_FAULTS, Rule, length_words, rule_of, text_rule

# The servicer checks these items one by one, so that a bad one never fails its neighbours (OB-6, EM-4).
CHECKED_PER_ITEM = {
    "palimpsest.v1.BatchRecordObservationsRequest": "observations",
    "palimpsest.v1.CaptureMessagesRequest": "messages",
    "palimpsest.v1.EmbedRequest": "texts",
    "palimpsest.v1.ProposeFactsRequest": "facts",
    # One item, and counted where it is refused, as those of a batch are.
    "palimpsest.v1.RecordObservationRequest": "observation",
}

_CHECKED_PER_ITEM = frozenset(f"{message}.{field}" for message, field in CHECKED_PER_ITEM.items())

# What is wrong beyond that is not listed: a status has to fit into a few kilobytes of metadata.
MOST_VIOLATIONS = 64

# The stubs know two unrelated classes of one shape: pure Python's and upb's.
AnyDescriptor = Any

# Takes a field's value and its path, and adds what is wrong to the list.
_Check = Callable[[Any, str, list[Violation]], None]

# A key of a map is shown in a path only where it cannot be mistaken for something else; it is the caller's text.
_PLAIN_KEY = re.compile(r"[\w.:/-]{1,64}")


def violations(message: Message, prefix: str = "") -> list[Violation]:
    """What breaks the limits of `message`, whose own path is `prefix` (e.g. `observations[3]`); at most 64 of them."""
    found: list[Violation] = []
    _check_message(message, f"{prefix}." if prefix else "", found)
    return found[:MOST_VIOLATIONS]


def value_violations(field: AnyDescriptor, value: Any, path: str) -> list[Violation]:
    """What breaks the limits of a single-valued field, were `value` in it: without a message around it."""
    plan = _plans.get(field.containing_type) or _compiled(field.containing_type)
    found: list[Violation] = []
    if value == field.default_value:  # as good as absent
        found += (Violation(path, words) for number, _, words in plan.needed if number == field.number)
    elif field.number in plan.checks:
        plan.checks[field.number][1](value, path, found)
    return found


def require_valid(message: Message, prefix: str = "") -> None:
    """Raises InvalidField or InvalidText if `violations` finds any."""
    found = violations(message, prefix)
    if found:
        raise invalid(found)


class _Plan(NamedTuple):
    """How a type of message is checked."""

    checks: dict[int, tuple[str, _Check]]
    """Name and check of each field that can be wrong, by number."""
    needed: tuple[tuple[int, str, str], ...]
    """Number, name and words of each field that must not be absent."""
    choices: tuple[str, ...]
    """The oneofs of which a member must be set."""


_plans: dict[AnyDescriptor, _Plan] = {}


def _check_message(message: Message, prefix: str, found: list[Violation]) -> None:
    plan = _plans.get(message.DESCRIPTOR) or _compiled(message.DESCRIPTOR)
    present = message.ListFields()
    if plan.needed:
        numbers = {field.number for field, _ in present}
        for number, name, words in plan.needed:
            if number not in numbers:
                found.append(Violation(prefix + name, words))
    for choice in plan.choices:
        if message.WhichOneof(choice) is None:
            found.append(Violation(prefix + choice, "must have one of its members set"))
    checks = plan.checks
    for field, value in present:
        named = checks.get(field.number)
        if named is not None:
            named[1](value, prefix + named[0], found)


def _compiled(descriptor: AnyDescriptor) -> _Plan:
    checks = ((field, _field_check(field, _limits(field))) for field in descriptor.fields)
    plan = _Plan(
        checks={field.number: (field.name, check) for field, check in checks if check},
        needed=tuple(
            (field.number, field.name, words)
            for field in descriptor.fields
            if not _is_choice(field) and (words := _needed(_limits(field)))
        ),
        choices=tuple(oneof.name for oneof in descriptor.oneofs if _option(oneof, limits_pb2.choice_required)),
    )
    _plans[descriptor] = plan
    return plan


def _limits(field: FieldDescriptor) -> FieldLimits:
    limits: FieldLimits = _option(field, limits_pb2.limits)
    return limits


def _option(described: AnyDescriptor, extension: Any) -> Any:
    return described.GetOptions().Extensions[extension]


def _needed(limits: FieldLimits) -> str:
    if limits.min_items:
        return length_words(limits.min_items, limits.max_items, "items")
    return "is required" if limits.required else ""


def _field_check(field: FieldDescriptor, limits: FieldLimits) -> _Check | None:
    if _is_map(field):
        return _both(_count_check(limits), _map_check(field, limits))
    element = _element_check(field, limits)
    if _is_choice(field) and limits.required:
        return _both(_filled, element)
    if field.full_name in _CHECKED_PER_ITEM:
        return _count_check(limits) if field.is_repeated else None
    if not field.is_repeated:
        return element
    items = _each(element) if element else None
    return _both(_count_check(limits), items, _unique_check(field) if limits.unique else None)


def _is_choice(field: FieldDescriptor) -> bool:
    """Whether the field is a member of a oneof; proto3's `optional` makes one of its own, which is none of ours."""
    return field.containing_oneof is not None and not field.containing_oneof.name.startswith("_")


def _filled(value: Any, path: str, found: list[Violation]) -> None:
    """A member that was chosen is present even where it is empty."""
    if value in ("", b"", 0):
        found.append(Violation(path, "is required"))


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _element_check(field: FieldDescriptor, limits: FieldLimits) -> _Check | None:
    rule = rule_of(field, limits)
    if rule is not None:
        return _by_rule(rule)
    return _submessage if field.message_type is not None else None


def _by_rule(rule: Rule) -> _Check:
    def check(value: Any, path: str, found: list[Violation]) -> None:
        fault = rule(value)
        if fault:
            found.append(Violation(path, fault, is_text=fault in TEXT_FAULTS))

    return check


def _submessage(value: Message, path: str, found: list[Violation]) -> None:
    _check_message(value, f"{path}.", found)


def _each(element: _Check) -> _Check:
    def check(values: Iterable[Any], path: str, found: list[Violation]) -> None:
        for index, value in enumerate(values):
            element(value, f"{path}[{index}]", found)
            if len(found) >= MOST_VIOLATIONS:
                return

    return check


def _count_check(limits: FieldLimits) -> _Check | None:
    if not limits.min_items and not limits.max_items:
        return None
    least, most = limits.min_items, limits.max_items or float("inf")
    words = length_words(limits.min_items, limits.max_items, "items")

    def check(values: Any, path: str, found: list[Violation]) -> None:
        if not least <= len(values) <= most:
            found.append(Violation(path, words))

    return check


def _unique_check(field: FieldDescriptor) -> _Check:
    is_message = field.message_type is not None

    def check(values: Iterable[Any], path: str, found: list[Violation]) -> None:
        first_at: dict[Any, int] = {}
        for index, value in enumerate(values):
            identity = value.SerializeToString(deterministic=True) if is_message else value
            earlier = first_at.setdefault(identity, index)
            if earlier != index:
                found.append(Violation(f"{path}[{index}]", f"must differ from element {earlier}"))

    return check


def _map_check(field: AnyDescriptor, limits: FieldLimits) -> _Check:
    entry = field.message_type.fields_by_name
    check_value = _element_check(entry["value"], limits)
    has_text_keys = entry["key"].type == FieldDescriptor.TYPE_STRING
    key_rule = text_rule(FieldLimits(max_length=limits.max_key_length)) if has_text_keys else None

    def check(values: Any, path: str, found: list[Violation]) -> None:
        for key in values:
            fault = key_rule(key) if key_rule else ""
            if fault:
                found.append(Violation(_at_key(path, key), f"key {fault}", is_text=fault in TEXT_FAULTS))
            elif check_value:
                check_value(values[key], _at_key(path, key), found)
            if len(found) >= MOST_VIOLATIONS:
                return

    return check


def _at_key(path: str, key: object) -> str:
    return f"{path}[{key}]" if _PLAIN_KEY.fullmatch(str(key)) else f"{path}[*]"


def _both(*checks: _Check | None) -> _Check | None:
    """One check out of those that there are; a value that fails one is not given to the next."""
    present = [check for check in checks if check]
    if len(present) < 2:
        return present[0] if present else None

    def check(value: Any, path: str, found: list[Violation]) -> None:
        before = len(found)
        for one in present:
            one(value, path, found)
            if len(found) > before:
                return

    return check
