"""SH-5: the limits in the contract are well-formed, and whatever a caller sends has limits."""

import re
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from palimpsest.v1 import limits_pb2

from tests.contract.contract import SERVICES, is_map, is_unbounded, sent_by_callers, service_descriptor, value_field

NUMBERS = frozenset(range(1, 19)) - {
    FieldDescriptor.TYPE_BOOL,
    FieldDescriptor.TYPE_STRING,
    FieldDescriptor.TYPE_GROUP,
    FieldDescriptor.TYPE_MESSAGE,
    FieldDescriptor.TYPE_BYTES,
    FieldDescriptor.TYPE_ENUM,
}
STRINGS, BYTES, ENUMS = (
    {FieldDescriptor.TYPE_STRING},
    {FieldDescriptor.TYPE_BYTES},
    {FieldDescriptor.TYPE_ENUM},
)

# What of `FieldLimits` binds which types of elements; the others bind fields of many elements.
OF_ELEMENTS = {
    "min_length": STRINGS,
    "max_length": STRINGS,
    "max_bytes": STRINGS | BYTES,
    "pattern": STRINGS,
    "json": STRINGS,
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "defined_only": ENUMS,
}


def limits_of(field: Any) -> Any:
    return field.GetOptions().Extensions[limits_pb2.limits]


def has_limits(field: Any) -> bool:
    return bool(field.GetOptions().HasExtension(limits_pb2.limits))


def named(fields: list[Any]) -> list[str]:
    return [field.full_name for field in fields]


def misfits(field: Any) -> list[str]:
    """What in a field's limits does not fit its type."""
    return [
        f"{field.full_name}: {option.name}"
        for option, _ in limits_of(field).ListFields()
        if not _fits(option.name, field)
    ]


def _fits(option: str, field: Any) -> bool:
    if option in OF_ELEMENTS:
        return value_field(field).type in OF_ELEMENTS[option] and not (option == "defined_only" and field.is_repeated)
    if option == "max_key_length":
        return is_map(field)
    if option == "unique":
        return field.is_repeated and not is_map(field)
    return option == "required" or field.is_repeated  # min_items, max_items


def test_the_fields_that_callers_send_are_found() -> None:
    """SH-5: the walk reaches from the requests into what they hold."""
    names = named(list(sent_by_callers()))
    assert len(names) > 250
    assert "palimpsest.v1.TypedId.id" in names
    assert "palimpsest.v1.Fact.fact_id" not in names


@pytest.mark.parametrize("field", sent_by_callers(), ids=lambda field: field.full_name)
def test_limits_are_well_formed(field: Any) -> None:
    """SH-5: each limit fits its field's type, each range is a range, each pattern compiles and is of RE2's language."""
    limits = limits_of(field)
    assert misfits(field) == []
    for least, most in (("min_length", "max_length"), ("min_items", "max_items")):
        assert not getattr(limits, most) or getattr(limits, least) <= getattr(limits, most)
    if limits.HasField("minimum") and limits.HasField("maximum"):
        assert limits.minimum <= limits.maximum
    re.compile(limits.pattern)
    assert not re.search(r"\(\?[=!<]|\\[1-9]", limits.pattern), "RE2 knows no look-around and no back-reference"


def test_only_fields_that_callers_send_have_limits() -> None:
    """SH-5: a limit that nothing checks would be a promise that nobody keeps."""
    checked = set(sent_by_callers())
    answers = [method.output_type for service in SERVICES for method in service_descriptor(service).methods]
    assert named([f for message in answers for f in message.fields if has_limits(f) and f not in checked]) == []


def test_namespaces_have_limits() -> None:
    """NS-1: every request's namespace is required, bounded, and free of white space."""
    namespaces = [field for field in sent_by_callers() if field.name == "namespace"]
    assert len(namespaces) > 55
    for field in namespaces:
        limits = limits_of(field)
        assert limits.required
        assert limits.max_bytes == 256
        assert re.fullmatch(limits.pattern, "team-a:prod/1")
        assert not re.fullmatch(limits.pattern, "a b")


def test_every_text_has_a_greatest_size() -> None:
    """SH-5: no text that a caller sends is unbounded, in elements of lists and in values and keys of maps too."""
    assert named([field for field in sent_by_callers() if not _is_bounded(field)]) == []


def _is_bounded(field: Any) -> bool:
    limits = limits_of(field)
    if is_map(field) and not limits.max_key_length:
        return False
    if value_field(field).type not in STRINGS | BYTES:
        return True
    return bool(limits.max_length or limits.max_bytes or (limits.pattern and not is_unbounded(limits.pattern)))


def test_every_list_has_a_greatest_length() -> None:
    """SH-5: no list and no map that a caller sends is unbounded."""
    assert named([field for field in sent_by_callers() if field.is_repeated and not limits_of(field).max_items]) == []


def test_enums_take_defined_values_only() -> None:
    """SH-5: a value that the contract does not have is refused, not stored."""
    enums = [field for field in sent_by_callers() if field.type in ENUMS and not field.is_repeated]
    assert named([field for field in enums if not limits_of(field).defined_only]) == []


@pytest.mark.parametrize(
    ("pattern", "unbounded"),
    [("a+", True), ("[a-z]*", True), ("a{3,}", True), ("[+*]", False), (r"a\+", False), ("a{1,3}b?", False)],
)
def test_unbounded_patterns_are_known(pattern: str, unbounded: bool) -> None:
    """SH-5: the check can tell a bounded pattern from an unbounded one."""
    assert is_unbounded(pattern) is unbounded


def test_misfits_are_known() -> None:
    """SH-5: the check refuses limits of another type's."""
    text = next(field for field in sent_by_callers() if field.type in STRINGS and not field.is_repeated)
    number = next(field for field in sent_by_callers() if field.type in NUMBERS)
    assert not _fits("minimum", text)
    assert not _fits("pattern", number)
    assert not _fits("max_items", text)
    assert not _fits("unique", number)
    assert not _fits("max_key_length", text)
