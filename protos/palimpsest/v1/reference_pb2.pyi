from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Visibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VISIBILITY_UNSPECIFIED: _ClassVar[Visibility]
    VISIBILITY_PRIVATE: _ClassVar[Visibility]
    VISIBILITY_PROJECT: _ClassVar[Visibility]
    VISIBILITY_TEAM: _ClassVar[Visibility]
    VISIBILITY_ORGANIZATION: _ClassVar[Visibility]
    VISIBILITY_NAMESPACE: _ClassVar[Visibility]

class Importance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMPORTANCE_UNSPECIFIED: _ClassVar[Importance]
    IMPORTANCE_LOW: _ClassVar[Importance]
    IMPORTANCE_MEDIUM: _ClassVar[Importance]
    IMPORTANCE_HIGH: _ClassVar[Importance]
    IMPORTANCE_CRITICAL: _ClassVar[Importance]

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_VAULT: _ClassVar[Origin]
    ORIGIN_AGENT: _ClassVar[Origin]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_UNSPECIFIED: _ClassVar[Status]
    STATUS_ACTIVE: _ClassVar[Status]
    STATUS_DRAFT: _ClassVar[Status]
    STATUS_STALE: _ClassVar[Status]
    STATUS_SUPERSEDED: _ClassVar[Status]
    STATUS_ARCHIVED: _ClassVar[Status]
VISIBILITY_UNSPECIFIED: Visibility
VISIBILITY_PRIVATE: Visibility
VISIBILITY_PROJECT: Visibility
VISIBILITY_TEAM: Visibility
VISIBILITY_ORGANIZATION: Visibility
VISIBILITY_NAMESPACE: Visibility
IMPORTANCE_UNSPECIFIED: Importance
IMPORTANCE_LOW: Importance
IMPORTANCE_MEDIUM: Importance
IMPORTANCE_HIGH: Importance
IMPORTANCE_CRITICAL: Importance
ORIGIN_UNSPECIFIED: Origin
ORIGIN_VAULT: Origin
ORIGIN_AGENT: Origin
STATUS_UNSPECIFIED: Status
STATUS_ACTIVE: Status
STATUS_DRAFT: Status
STATUS_STALE: Status
STATUS_SUPERSEDED: Status
STATUS_ARCHIVED: Status

class TypedId(_message.Message):
    __slots__ = ("type", "id")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    type: str
    id: str
    def __init__(self, type: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class EntityRef(_message.Message):
    __slots__ = ("key", "typed")
    KEY_FIELD_NUMBER: _ClassVar[int]
    TYPED_FIELD_NUMBER: _ClassVar[int]
    key: str
    typed: TypedId
    def __init__(self, key: _Optional[str] = ..., typed: _Optional[_Union[TypedId, _Mapping]] = ...) -> None: ...

class SourceIdentity(_message.Message):
    __slots__ = ("system", "stream", "external_id", "revision")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    system: str
    stream: str
    external_id: str
    revision: str
    def __init__(self, system: _Optional[str] = ..., stream: _Optional[str] = ..., external_id: _Optional[str] = ..., revision: _Optional[str] = ...) -> None: ...

class Provenance(_message.Message):
    __slots__ = ("uri", "repository", "branch", "commit_sha", "path", "content_hash", "author", "committed_at", "indexed_at", "extracted_by", "reviewed_by", "derived_from", "extra")
    class ExtraEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    URI_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    BRANCH_FIELD_NUMBER: _ClassVar[int]
    COMMIT_SHA_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    INDEXED_AT_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_BY_FIELD_NUMBER: _ClassVar[int]
    REVIEWED_BY_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FROM_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    uri: str
    repository: str
    branch: str
    commit_sha: str
    path: str
    content_hash: str
    author: str
    committed_at: _timestamp_pb2.Timestamp
    indexed_at: _timestamp_pb2.Timestamp
    extracted_by: str
    reviewed_by: str
    derived_from: _containers.RepeatedScalarFieldContainer[str]
    extra: _containers.ScalarMap[str, str]
    def __init__(self, uri: _Optional[str] = ..., repository: _Optional[str] = ..., branch: _Optional[str] = ..., commit_sha: _Optional[str] = ..., path: _Optional[str] = ..., content_hash: _Optional[str] = ..., author: _Optional[str] = ..., committed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., indexed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., extracted_by: _Optional[str] = ..., reviewed_by: _Optional[str] = ..., derived_from: _Optional[_Iterable[str]] = ..., extra: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Permissions(_message.Message):
    __slots__ = ("visibility", "visibility_id", "read_roles", "write_roles")
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_ID_FIELD_NUMBER: _ClassVar[int]
    READ_ROLES_FIELD_NUMBER: _ClassVar[int]
    WRITE_ROLES_FIELD_NUMBER: _ClassVar[int]
    visibility: Visibility
    visibility_id: str
    read_roles: _containers.RepeatedScalarFieldContainer[str]
    write_roles: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, visibility: _Optional[_Union[Visibility, str]] = ..., visibility_id: _Optional[str] = ..., read_roles: _Optional[_Iterable[str]] = ..., write_roles: _Optional[_Iterable[str]] = ...) -> None: ...
