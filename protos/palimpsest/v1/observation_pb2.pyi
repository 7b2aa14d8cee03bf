from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import document_pb2 as _document_pb2
from palimpsest.v1 import entity_pb2 as _entity_pb2
from palimpsest.v1 import fact_pb2 as _fact_pb2
from palimpsest.v1 import item_error_pb2 as _item_error_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import link_pb2 as _link_pb2
from palimpsest.v1 import record_pb2 as _record_pb2
from palimpsest.v1 import reference_pb2 as _reference_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ObservationStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBSERVATION_STATUS_UNSPECIFIED: _ClassVar[ObservationStatus]
    OBSERVATION_STATUS_RECEIVED: _ClassVar[ObservationStatus]
    OBSERVATION_STATUS_PROCESSED: _ClassVar[ObservationStatus]
    OBSERVATION_STATUS_PARTIALLY_PROCESSED: _ClassVar[ObservationStatus]
    OBSERVATION_STATUS_FAILED: _ClassVar[ObservationStatus]
    OBSERVATION_STATUS_REDACTED: _ClassVar[ObservationStatus]
OBSERVATION_STATUS_UNSPECIFIED: ObservationStatus
OBSERVATION_STATUS_RECEIVED: ObservationStatus
OBSERVATION_STATUS_PROCESSED: ObservationStatus
OBSERVATION_STATUS_PARTIALLY_PROCESSED: ObservationStatus
OBSERVATION_STATUS_FAILED: ObservationStatus
OBSERVATION_STATUS_REDACTED: ObservationStatus

class Observation(_message.Message):
    __slots__ = ("source", "kind", "occurred_at", "actor", "subject", "scopes", "content", "data", "assertions", "provenance", "trace_id", "permissions")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ASSERTIONS_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    source: _reference_pb2.SourceIdentity
    kind: str
    occurred_at: _timestamp_pb2.Timestamp
    actor: _reference_pb2.TypedId
    subject: _reference_pb2.TypedId
    scopes: _containers.RepeatedScalarFieldContainer[str]
    content: str
    data: str
    assertions: _containers.RepeatedCompositeFieldContainer[Assertion]
    provenance: _reference_pb2.Provenance
    trace_id: str
    permissions: _reference_pb2.Permissions
    def __init__(self, source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., kind: _Optional[str] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., actor: _Optional[_Union[_reference_pb2.TypedId, _Mapping]] = ..., subject: _Optional[_Union[_reference_pb2.TypedId, _Mapping]] = ..., scopes: _Optional[_Iterable[str]] = ..., content: _Optional[str] = ..., data: _Optional[str] = ..., assertions: _Optional[_Iterable[_Union[Assertion, _Mapping]]] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., trace_id: _Optional[str] = ..., permissions: _Optional[_Union[_reference_pb2.Permissions, _Mapping]] = ...) -> None: ...

class Assertion(_message.Message):
    __slots__ = ("entity", "fact", "link", "document", "episode", "record", "retraction", "correction")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    EPISODE_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    RETRACTION_FIELD_NUMBER: _ClassVar[int]
    CORRECTION_FIELD_NUMBER: _ClassVar[int]
    entity: _entity_pb2.EntityAssertion
    fact: _fact_pb2.FactAssertion
    link: _link_pb2.LinkAssertion
    document: _document_pb2.DocumentAssertion
    episode: _record_pb2.Episode
    record: _record_pb2.MemoryRecord
    retraction: _fact_pb2.FactRetraction
    correction: _fact_pb2.FactCorrection
    def __init__(self, entity: _Optional[_Union[_entity_pb2.EntityAssertion, _Mapping]] = ..., fact: _Optional[_Union[_fact_pb2.FactAssertion, _Mapping]] = ..., link: _Optional[_Union[_link_pb2.LinkAssertion, _Mapping]] = ..., document: _Optional[_Union[_document_pb2.DocumentAssertion, _Mapping]] = ..., episode: _Optional[_Union[_record_pb2.Episode, _Mapping]] = ..., record: _Optional[_Union[_record_pb2.MemoryRecord, _Mapping]] = ..., retraction: _Optional[_Union[_fact_pb2.FactRetraction, _Mapping]] = ..., correction: _Optional[_Union[_fact_pb2.FactCorrection, _Mapping]] = ...) -> None: ...

class StoredObservation(_message.Message):
    __slots__ = ("observation_id", "observation", "content_hash", "recorded_at", "status", "failed_assertions", "redacted_at")
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAILED_ASSERTIONS_FIELD_NUMBER: _ClassVar[int]
    REDACTED_AT_FIELD_NUMBER: _ClassVar[int]
    observation_id: str
    observation: Observation
    content_hash: str
    recorded_at: _timestamp_pb2.Timestamp
    status: ObservationStatus
    failed_assertions: _containers.RepeatedCompositeFieldContainer[FailedAssertion]
    redacted_at: _timestamp_pb2.Timestamp
    def __init__(self, observation_id: _Optional[str] = ..., observation: _Optional[_Union[Observation, _Mapping]] = ..., content_hash: _Optional[str] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[ObservationStatus, str]] = ..., failed_assertions: _Optional[_Iterable[_Union[FailedAssertion, _Mapping]]] = ..., redacted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FailedAssertion(_message.Message):
    __slots__ = ("index", "error")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    index: int
    error: _item_error_pb2.ItemError
    def __init__(self, index: _Optional[int] = ..., error: _Optional[_Union[_item_error_pb2.ItemError, _Mapping]] = ...) -> None: ...

class RecordedObservation(_message.Message):
    __slots__ = ("observation_id", "duplicate", "status", "failed_assertions", "recorded_at", "entity_keys", "fact_ids")
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAILED_ASSERTIONS_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    ENTITY_KEYS_FIELD_NUMBER: _ClassVar[int]
    FACT_IDS_FIELD_NUMBER: _ClassVar[int]
    observation_id: str
    duplicate: bool
    status: ObservationStatus
    failed_assertions: _containers.RepeatedCompositeFieldContainer[FailedAssertion]
    recorded_at: _timestamp_pb2.Timestamp
    entity_keys: _containers.RepeatedScalarFieldContainer[str]
    fact_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, observation_id: _Optional[str] = ..., duplicate: bool = ..., status: _Optional[_Union[ObservationStatus, str]] = ..., failed_assertions: _Optional[_Iterable[_Union[FailedAssertion, _Mapping]]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., entity_keys: _Optional[_Iterable[str]] = ..., fact_ids: _Optional[_Iterable[str]] = ...) -> None: ...
