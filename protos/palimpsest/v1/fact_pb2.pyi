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

class EvidenceClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVIDENCE_CLASS_UNSPECIFIED: _ClassVar[EvidenceClass]
    EVIDENCE_CLASS_DERIVED: _ClassVar[EvidenceClass]
    EVIDENCE_CLASS_INFERRED: _ClassVar[EvidenceClass]
    EVIDENCE_CLASS_EXTRACTED: _ClassVar[EvidenceClass]
    EVIDENCE_CLASS_ASSERTED: _ClassVar[EvidenceClass]

class FactClosure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FACT_CLOSURE_UNSPECIFIED: _ClassVar[FactClosure]
    FACT_CLOSURE_ASSERTED: _ClassVar[FactClosure]
    FACT_CLOSURE_SUPERSEDED: _ClassVar[FactClosure]
    FACT_CLOSURE_RETRACTED: _ClassVar[FactClosure]
    FACT_CLOSURE_CORRECTED: _ClassVar[FactClosure]
    FACT_CLOSURE_TIMELINE: _ClassVar[FactClosure]
    FACT_CLOSURE_SNAPSHOT: _ClassVar[FactClosure]

class FactEventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FACT_EVENT_TYPE_UNSPECIFIED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_ASSERTED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_REINFORCED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_CLOSED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_SUPERSEDED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_CORRECTED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_OBSOLETED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_RESTORED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_EVIDENCE_LOST: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_CONFIRMED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_ARCHIVED: _ClassVar[FactEventType]
    FACT_EVENT_TYPE_DELETED: _ClassVar[FactEventType]
EVIDENCE_CLASS_UNSPECIFIED: EvidenceClass
EVIDENCE_CLASS_DERIVED: EvidenceClass
EVIDENCE_CLASS_INFERRED: EvidenceClass
EVIDENCE_CLASS_EXTRACTED: EvidenceClass
EVIDENCE_CLASS_ASSERTED: EvidenceClass
FACT_CLOSURE_UNSPECIFIED: FactClosure
FACT_CLOSURE_ASSERTED: FactClosure
FACT_CLOSURE_SUPERSEDED: FactClosure
FACT_CLOSURE_RETRACTED: FactClosure
FACT_CLOSURE_CORRECTED: FactClosure
FACT_CLOSURE_TIMELINE: FactClosure
FACT_CLOSURE_SNAPSHOT: FactClosure
FACT_EVENT_TYPE_UNSPECIFIED: FactEventType
FACT_EVENT_TYPE_ASSERTED: FactEventType
FACT_EVENT_TYPE_REINFORCED: FactEventType
FACT_EVENT_TYPE_CLOSED: FactEventType
FACT_EVENT_TYPE_SUPERSEDED: FactEventType
FACT_EVENT_TYPE_CORRECTED: FactEventType
FACT_EVENT_TYPE_OBSOLETED: FactEventType
FACT_EVENT_TYPE_RESTORED: FactEventType
FACT_EVENT_TYPE_EVIDENCE_LOST: FactEventType
FACT_EVENT_TYPE_CONFIRMED: FactEventType
FACT_EVENT_TYPE_ARCHIVED: FactEventType
FACT_EVENT_TYPE_DELETED: FactEventType

class Literal(_message.Message):
    __slots__ = ("text", "integer", "decimal", "boolean", "timestamp", "json")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    DECIMAL_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    text: str
    integer: int
    decimal: str
    boolean: bool
    timestamp: _timestamp_pb2.Timestamp
    json: str
    def __init__(self, text: _Optional[str] = ..., integer: _Optional[int] = ..., decimal: _Optional[str] = ..., boolean: bool = ..., timestamp: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., json: _Optional[str] = ...) -> None: ...

class FactObject(_message.Message):
    __slots__ = ("entity", "literal")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    entity: _reference_pb2.EntityRef
    literal: Literal
    def __init__(self, entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., literal: _Optional[_Union[Literal, _Mapping]] = ...) -> None: ...

class FactAssertion(_message.Message):
    __slots__ = ("subject", "predicate", "object", "valid_from", "valid_to", "evidence", "confidence", "importance", "supersedes", "scopes", "attributes", "source_path", "expires_at")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    subject: _reference_pb2.EntityRef
    predicate: str
    object: FactObject
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    evidence: EvidenceClass
    confidence: float
    importance: _reference_pb2.Importance
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    scopes: _containers.RepeatedScalarFieldContainer[str]
    attributes: str
    source_path: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, subject: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., predicate: _Optional[str] = ..., object: _Optional[_Union[FactObject, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., evidence: _Optional[_Union[EvidenceClass, str]] = ..., confidence: _Optional[float] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., supersedes: _Optional[_Iterable[str]] = ..., scopes: _Optional[_Iterable[str]] = ..., attributes: _Optional[str] = ..., source_path: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FactRetraction(_message.Message):
    __slots__ = ("fact_id", "valid_to", "reason")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    valid_to: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, fact_id: _Optional[str] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class FactCorrection(_message.Message):
    __slots__ = ("fact_id", "replacement", "reason")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    REPLACEMENT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    replacement: FactAssertion
    reason: str
    def __init__(self, fact_id: _Optional[str] = ..., replacement: _Optional[_Union[FactAssertion, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class Fact(_message.Message):
    __slots__ = ("namespace", "fact_id", "subject_key", "predicate", "object", "valid_from", "valid_to", "observed_at", "recorded_at", "evidence", "confidence", "importance", "observation_ids", "supersedes", "superseded_by", "closure", "source_path", "scopes", "origin", "attributes", "status", "evidence_lost", "expires_at", "snapshot", "sentence", "last_confirmed_at", "obsolete_at", "obsolete_reason", "deleted_at", "permissions")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_KEY_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_AT_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_IDS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    CLOSURE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_PATH_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_LOST_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    OBSOLETE_AT_FIELD_NUMBER: _ClassVar[int]
    OBSOLETE_REASON_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    subject_key: str
    predicate: str
    object: FactObject
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    observed_at: _timestamp_pb2.Timestamp
    recorded_at: _timestamp_pb2.Timestamp
    evidence: EvidenceClass
    confidence: float
    importance: _reference_pb2.Importance
    observation_ids: _containers.RepeatedScalarFieldContainer[str]
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    superseded_by: _containers.RepeatedScalarFieldContainer[str]
    closure: FactClosure
    source_path: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    origin: _reference_pb2.Origin
    attributes: str
    status: _reference_pb2.Status
    evidence_lost: bool
    expires_at: _timestamp_pb2.Timestamp
    snapshot: SnapshotIdentity
    sentence: str
    last_confirmed_at: _timestamp_pb2.Timestamp
    obsolete_at: _timestamp_pb2.Timestamp
    obsolete_reason: str
    deleted_at: _timestamp_pb2.Timestamp
    permissions: _reference_pb2.Permissions
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., subject_key: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[_Union[FactObject, _Mapping]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., observed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., evidence: _Optional[_Union[EvidenceClass, str]] = ..., confidence: _Optional[float] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., observation_ids: _Optional[_Iterable[str]] = ..., supersedes: _Optional[_Iterable[str]] = ..., superseded_by: _Optional[_Iterable[str]] = ..., closure: _Optional[_Union[FactClosure, str]] = ..., source_path: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., origin: _Optional[_Union[_reference_pb2.Origin, str]] = ..., attributes: _Optional[str] = ..., status: _Optional[_Union[_reference_pb2.Status, str]] = ..., evidence_lost: bool = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., snapshot: _Optional[_Union[SnapshotIdentity, _Mapping]] = ..., sentence: _Optional[str] = ..., last_confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., obsolete_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., obsolete_reason: _Optional[str] = ..., deleted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., permissions: _Optional[_Union[_reference_pb2.Permissions, _Mapping]] = ...) -> None: ...

class SnapshotIdentity(_message.Message):
    __slots__ = ("source", "scope", "snapshot_id")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    source: str
    scope: str
    snapshot_id: str
    def __init__(self, source: _Optional[str] = ..., scope: _Optional[str] = ..., snapshot_id: _Optional[str] = ...) -> None: ...

class FactEvent(_message.Message):
    __slots__ = ("type", "recorded_at", "observation_id", "other_fact_id", "reason", "fact")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    OTHER_FACT_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    type: FactEventType
    recorded_at: _timestamp_pb2.Timestamp
    observation_id: str
    other_fact_id: str
    reason: str
    fact: Fact
    def __init__(self, type: _Optional[_Union[FactEventType, str]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., observation_id: _Optional[str] = ..., other_fact_id: _Optional[str] = ..., reason: _Optional[str] = ..., fact: _Optional[_Union[Fact, _Mapping]] = ...) -> None: ...
