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

class DuplicateState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DUPLICATE_STATE_UNSPECIFIED: _ClassVar[DuplicateState]
    DUPLICATE_STATE_PROPOSED: _ClassVar[DuplicateState]
    DUPLICATE_STATE_CONFIRMED: _ClassVar[DuplicateState]
    DUPLICATE_STATE_REFUSED: _ClassVar[DuplicateState]
    DUPLICATE_STATE_UNDONE: _ClassVar[DuplicateState]
DUPLICATE_STATE_UNSPECIFIED: DuplicateState
DUPLICATE_STATE_PROPOSED: DuplicateState
DUPLICATE_STATE_CONFIRMED: DuplicateState
DUPLICATE_STATE_REFUSED: DuplicateState
DUPLICATE_STATE_UNDONE: DuplicateState

class EntityAssertion(_message.Message):
    __slots__ = ("entity", "kind", "title", "aliases", "source_path", "source_id", "url", "author", "source_created_at", "source_updated_at", "confidence", "importance", "attributes", "status", "expires_at", "scopes", "provenance", "pii_categories")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    SOURCE_CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    PII_CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    entity: _reference_pb2.EntityRef
    kind: str
    title: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    source_path: str
    source_id: str
    url: str
    author: str
    source_created_at: _timestamp_pb2.Timestamp
    source_updated_at: _timestamp_pb2.Timestamp
    confidence: float
    importance: _reference_pb2.Importance
    attributes: str
    status: _reference_pb2.Status
    expires_at: _timestamp_pb2.Timestamp
    scopes: _containers.RepeatedScalarFieldContainer[str]
    provenance: _reference_pb2.Provenance
    pii_categories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., source_path: _Optional[str] = ..., source_id: _Optional[str] = ..., url: _Optional[str] = ..., author: _Optional[str] = ..., source_created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source_updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., confidence: _Optional[float] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., attributes: _Optional[str] = ..., status: _Optional[_Union[_reference_pb2.Status, str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., scopes: _Optional[_Iterable[str]] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., pii_categories: _Optional[_Iterable[str]] = ...) -> None: ...

class Entity(_message.Message):
    __slots__ = ("namespace", "natural_key", "kind", "title", "aliases", "source_path", "source_id", "url", "author", "source_created_at", "source_updated_at", "confidence", "importance", "last_seen_at", "origin", "attributes", "status", "expires_at", "scopes", "provenance", "trust", "placeholder", "observation_ids", "observation_count", "recorded_at", "last_confirmed_at", "deleted_at", "delete_reason", "merged_into", "pii_categories", "permissions")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NATURAL_KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    SOURCE_CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    PLACEHOLDER_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_IDS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    DELETE_REASON_FIELD_NUMBER: _ClassVar[int]
    MERGED_INTO_FIELD_NUMBER: _ClassVar[int]
    PII_CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    natural_key: str
    kind: str
    title: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    source_path: str
    source_id: str
    url: str
    author: str
    source_created_at: _timestamp_pb2.Timestamp
    source_updated_at: _timestamp_pb2.Timestamp
    confidence: float
    importance: _reference_pb2.Importance
    last_seen_at: _timestamp_pb2.Timestamp
    origin: _reference_pb2.Origin
    attributes: str
    status: _reference_pb2.Status
    expires_at: _timestamp_pb2.Timestamp
    scopes: _containers.RepeatedScalarFieldContainer[str]
    provenance: _reference_pb2.Provenance
    trust: float
    placeholder: bool
    observation_ids: _containers.RepeatedScalarFieldContainer[str]
    observation_count: int
    recorded_at: _timestamp_pb2.Timestamp
    last_confirmed_at: _timestamp_pb2.Timestamp
    deleted_at: _timestamp_pb2.Timestamp
    delete_reason: str
    merged_into: str
    pii_categories: _containers.RepeatedScalarFieldContainer[str]
    permissions: _reference_pb2.Permissions
    def __init__(self, namespace: _Optional[str] = ..., natural_key: _Optional[str] = ..., kind: _Optional[str] = ..., title: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., source_path: _Optional[str] = ..., source_id: _Optional[str] = ..., url: _Optional[str] = ..., author: _Optional[str] = ..., source_created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source_updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., confidence: _Optional[float] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., last_seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., origin: _Optional[_Union[_reference_pb2.Origin, str]] = ..., attributes: _Optional[str] = ..., status: _Optional[_Union[_reference_pb2.Status, str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., scopes: _Optional[_Iterable[str]] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., trust: _Optional[float] = ..., placeholder: bool = ..., observation_ids: _Optional[_Iterable[str]] = ..., observation_count: _Optional[int] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deleted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., delete_reason: _Optional[str] = ..., merged_into: _Optional[str] = ..., pii_categories: _Optional[_Iterable[str]] = ..., permissions: _Optional[_Union[_reference_pb2.Permissions, _Mapping]] = ...) -> None: ...

class DuplicateProposal(_message.Message):
    __slots__ = ("proposal_id", "first_key", "second_key", "score", "reason", "state", "proposed_at", "decided_at")
    PROPOSAL_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEY_FIELD_NUMBER: _ClassVar[int]
    SECOND_KEY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_AT_FIELD_NUMBER: _ClassVar[int]
    DECIDED_AT_FIELD_NUMBER: _ClassVar[int]
    proposal_id: str
    first_key: str
    second_key: str
    score: float
    reason: str
    state: DuplicateState
    proposed_at: _timestamp_pb2.Timestamp
    decided_at: _timestamp_pb2.Timestamp
    def __init__(self, proposal_id: _Optional[str] = ..., first_key: _Optional[str] = ..., second_key: _Optional[str] = ..., score: _Optional[float] = ..., reason: _Optional[str] = ..., state: _Optional[_Union[DuplicateState, str]] = ..., proposed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decided_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
