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

class ContentSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTENT_SOURCE_UNSPECIFIED: _ClassVar[ContentSource]
    CONTENT_SOURCE_ORIGINAL: _ClassVar[ContentSource]
    CONTENT_SOURCE_CHUNKS: _ClassVar[ContentSource]

class SourceState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_STATE_UNSPECIFIED: _ClassVar[SourceState]
    SOURCE_STATE_ACTIVE: _ClassVar[SourceState]
    SOURCE_STATE_PAUSED: _ClassVar[SourceState]
    SOURCE_STATE_DELETED: _ClassVar[SourceState]
CONTENT_SOURCE_UNSPECIFIED: ContentSource
CONTENT_SOURCE_ORIGINAL: ContentSource
CONTENT_SOURCE_CHUNKS: ContentSource
SOURCE_STATE_UNSPECIFIED: SourceState
SOURCE_STATE_ACTIVE: SourceState
SOURCE_STATE_PAUSED: SourceState
SOURCE_STATE_DELETED: SourceState

class DocumentAssertion(_message.Message):
    __slots__ = ("entity", "title", "text", "chunked", "media_type", "meta", "source_path")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CHUNKED_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    entity: _reference_pb2.EntityRef
    title: str
    text: str
    chunked: ChunkedText
    media_type: str
    meta: str
    source_path: str
    def __init__(self, entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., chunked: _Optional[_Union[ChunkedText, _Mapping]] = ..., media_type: _Optional[str] = ..., meta: _Optional[str] = ..., source_path: _Optional[str] = ...) -> None: ...

class ChunkedText(_message.Message):
    __slots__ = ("chunks",)
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    chunks: _containers.RepeatedCompositeFieldContainer[InputChunk]
    def __init__(self, chunks: _Optional[_Iterable[_Union[InputChunk, _Mapping]]] = ...) -> None: ...

class InputChunk(_message.Message):
    __slots__ = ("text", "heading", "meta")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    text: str
    heading: str
    meta: str
    def __init__(self, text: _Optional[str] = ..., heading: _Optional[str] = ..., meta: _Optional[str] = ...) -> None: ...

class Chunk(_message.Message):
    __slots__ = ("entity_key", "ordinal", "title", "heading", "text", "source_path", "token_count", "meta", "content_hash", "observation_id", "scopes", "embedded")
    ENTITY_KEY_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDED_FIELD_NUMBER: _ClassVar[int]
    entity_key: str
    ordinal: int
    title: str
    heading: str
    text: str
    source_path: str
    token_count: int
    meta: str
    content_hash: str
    observation_id: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    embedded: bool
    def __init__(self, entity_key: _Optional[str] = ..., ordinal: _Optional[int] = ..., title: _Optional[str] = ..., heading: _Optional[str] = ..., text: _Optional[str] = ..., source_path: _Optional[str] = ..., token_count: _Optional[int] = ..., meta: _Optional[str] = ..., content_hash: _Optional[str] = ..., observation_id: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., embedded: bool = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("system", "stream", "authority", "state", "description", "registered_at")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    AUTHORITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_AT_FIELD_NUMBER: _ClassVar[int]
    system: str
    stream: str
    authority: float
    state: SourceState
    description: str
    registered_at: _timestamp_pb2.Timestamp
    def __init__(self, system: _Optional[str] = ..., stream: _Optional[str] = ..., authority: _Optional[float] = ..., state: _Optional[_Union[SourceState, str]] = ..., description: _Optional[str] = ..., registered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
