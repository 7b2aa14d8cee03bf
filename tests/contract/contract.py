"""The contract as its source says it: descriptors with comments, and where everything of it lies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[2]
PROTOS = ROOT / "protos"
SERVICES = ("writer", "reader", "embedder")

Path_ = tuple[int, ...]


@dataclass(frozen=True)
class Element:
    """Something that the contract declares, and what is written above it."""

    kind: str
    name: str
    comment: str


def parsed(folder: Path, out: Path) -> FileDescriptorSet:
    """All `.proto` files under `folder`, compiled with their comments; `out` is a file to write to."""
    sources = sorted(str(path.relative_to(folder)) for path in folder.rglob("palimpsest/v1/*.proto"))
    include = [f"-I{folder}", f"-I{resources.files('grpc_tools') / '_proto'}"]
    if protoc.main(["protoc", *include, "--include_source_info", f"--descriptor_set_out={out}", *sources]):
        raise AssertionError("protoc refuses the contract")
    return FileDescriptorSet.FromString(out.read_bytes())


def elements(files: FileDescriptorSet) -> Iterator[Element]:
    """Every service, RPC, message, field, oneof, enum, enum value and option that is declared."""
    for file in files.file:
        comments = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
        for kind, path, name in _of_file(file):
            yield Element(kind, f"{file.package}.{name}", " ".join(comments.get(path, "").split()))


def _of_file(file: FileDescriptorProto) -> Iterator[tuple[str, Path_, str]]:
    for number, message in enumerate(file.message_type):
        yield from _of_message(message, (4, number), message.name)
    for number, enum in enumerate(file.enum_type):
        yield from _of_enum(enum, (5, number), enum.name)
    for number, service in enumerate(file.service):
        yield "service", (6, number), service.name
        for index, method in enumerate(service.method):
            yield "rpc", (6, number, 2, index), f"{service.name}.{method.name}"
    for number, option in enumerate(file.extension):
        yield "option", (7, number), option.name


def _of_message(message: DescriptorProto, path: Path_, name: str) -> Iterator[tuple[str, Path_, str]]:
    yield "message", path, name
    for number, field in enumerate(message.field):
        yield "field", (*path, 2, number), f"{name}.{field.name}"
    synthetic = {field.oneof_index for field in message.field if field.proto3_optional}
    for number, oneof in enumerate(message.oneof_decl):
        if number not in synthetic:
            yield "oneof", (*path, 8, number), f"{name}.{oneof.name}"
    for number, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            yield from _of_message(nested, (*path, 3, number), f"{name}.{nested.name}")
    for number, enum in enumerate(message.enum_type):
        yield from _of_enum(enum, (*path, 4, number), f"{name}.{enum.name}")


def _of_enum(enum: EnumDescriptorProto, path: Path_, name: str) -> Iterator[tuple[str, Path_, str]]:
    yield "enum", path, name
    for number, value in enumerate(enum.value):
        yield "value", (*path, 2, number), f"{name}.{value.name}"


def service_descriptor(service: str) -> Any:
    """The descriptor of the writer's, the reader's or the embedder's service."""
    module = import_module(f"palimpsest.v1.{service}_service_pb2")
    return module.DESCRIPTOR.services_by_name[f"{service.capitalize()}Service"]


@cache
def sent_by_callers() -> tuple[FieldDescriptor, ...]:
    """Every field that a caller can set: those of all request types, and of the messages in them."""
    seen: set[Any] = set()
    waiting = [method.input_type for service in SERVICES for method in service_descriptor(service).methods]
    while waiting:
        message = waiting.pop()
        if message in seen or not message.full_name.startswith("palimpsest."):
            continue
        seen.add(message)
        waiting += [_value_type(field) for field in message.fields if _value_type(field)]
    return tuple(field for message in sorted(seen, key=lambda one: one.full_name) for field in message.fields)


def is_map(field: Any) -> bool:
    """Whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def value_field(field: Any) -> Any:
    """The field whose type a field's elements have: of a map the value's."""
    return field.message_type.fields_by_name["value"] if is_map(field) else field


def _value_type(field: Any) -> Descriptor | None:
    found: Descriptor | None = value_field(field).message_type
    return found


def is_unbounded(pattern: str) -> bool:
    """Whether a text of any length can match."""
    bare = re.sub(r"\\.", "", pattern)
    bare = re.sub(r"\[[^\]]*\]", "x", bare)
    return bool(re.search(r"[*+]|\{\d+,\}", bare))
