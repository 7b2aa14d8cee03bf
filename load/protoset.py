"""The contract as ghz reads it: Python's reflection does not resolve names of methods for it."""

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from palimpsest.v1 import embedder_service_pb2, reader_service_pb2, writer_service_pb2

_SERVICES = (embedder_service_pb2, reader_service_pb2, writer_service_pb2)


def write_protoset(path: Path) -> Path:
    """Writes the descriptors of the services behind all that they import, as `protoc --include_imports
    --descriptor_set_out` does, from the committed stubs; returns the path."""
    files: dict[str, FileDescriptorProto] = {}
    for service in _SERVICES:
        for each in _imported_first(service.DESCRIPTOR):
            if each.name not in files:
                files[each.name] = FileDescriptorProto()
                each.CopyToProto(files[each.name])
    path.write_bytes(FileDescriptorSet(file=files.values()).SerializeToString())
    return path


def _imported_first(file: FileDescriptor) -> Iterator[FileDescriptor]:
    for each in file.dependencies:
        yield from _imported_first(each)
    yield file
