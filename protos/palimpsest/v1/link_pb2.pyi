from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import reference_pb2 as _reference_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LinkOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINK_ORIGIN_UNSPECIFIED: _ClassVar[LinkOrigin]
    LINK_ORIGIN_SOURCE: _ClassVar[LinkOrigin]
    LINK_ORIGIN_CURATION: _ClassVar[LinkOrigin]
LINK_ORIGIN_UNSPECIFIED: LinkOrigin
LINK_ORIGIN_SOURCE: LinkOrigin
LINK_ORIGIN_CURATION: LinkOrigin

class LinkTarget(_message.Message):
    __slots__ = ("kind", "ref", "source_hint")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    SOURCE_HINT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    ref: str
    source_hint: str
    def __init__(self, kind: _Optional[str] = ..., ref: _Optional[str] = ..., source_hint: _Optional[str] = ...) -> None: ...

class LinkAssertion(_message.Message):
    __slots__ = ("source", "relation", "entity", "reference", "weight")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    source: _reference_pb2.EntityRef
    relation: str
    entity: _reference_pb2.EntityRef
    reference: LinkTarget
    weight: float
    def __init__(self, source: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., relation: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., reference: _Optional[_Union[LinkTarget, _Mapping]] = ..., weight: _Optional[float] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("source_key", "relation", "target_key", "weight", "origin", "recorded_at", "observation_ids")
    SOURCE_KEY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    TARGET_KEY_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_IDS_FIELD_NUMBER: _ClassVar[int]
    source_key: str
    relation: str
    target_key: str
    weight: float
    origin: LinkOrigin
    recorded_at: _timestamp_pb2.Timestamp
    observation_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, source_key: _Optional[str] = ..., relation: _Optional[str] = ..., target_key: _Optional[str] = ..., weight: _Optional[float] = ..., origin: _Optional[_Union[LinkOrigin, str]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., observation_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class LinkClaim(_message.Message):
    __slots__ = ("source_key", "relation", "target", "recorded_at")
    SOURCE_KEY_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    source_key: str
    relation: str
    target: LinkTarget
    recorded_at: _timestamp_pb2.Timestamp
    def __init__(self, source_key: _Optional[str] = ..., relation: _Optional[str] = ..., target: _Optional[_Union[LinkTarget, _Mapping]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
