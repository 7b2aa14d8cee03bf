"""Packs and settings as messages of the contract."""

from __future__ import annotations

import json

from google.protobuf.json_format import ParseDict
from palimpsest.v1 import namespace_pb2
from palimpsest.v1 import reader_service_pb2 as pb

from services.reader.messages import optional_time
from services.reader.namespaces import Acting
from shared.namespace_defaults import fill_in


def to_pack(definition: str) -> namespace_pb2.DomainPack:
    """A pack, from the JSON that it is stored as."""
    return ParseDict(json.loads(definition), namespace_pb2.DomainPack())


def to_namespace_response(name: str, namespace: Acting) -> pb.GetNamespaceResponse:
    """A namespace with its settings; what they leave open is shown as it is meant."""
    settings = ParseDict(json.loads(namespace.settings), namespace_pb2.NamespaceSettings())
    fill_in(settings)
    return pb.GetNamespaceResponse(
        namespace=namespace_pb2.Namespace(
            namespace=name,
            settings=settings,
            settings_version=namespace.version,
            updated_at=optional_time(namespace.updated_at),
            updated_by=namespace.updated_by,
        )
    )
