from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import item_error_pb2 as _item_error_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import reference_pb2 as _reference_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EmbeddingSpaceState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EMBEDDING_SPACE_STATE_UNSPECIFIED: _ClassVar[EmbeddingSpaceState]
    EMBEDDING_SPACE_STATE_ACTIVE: _ClassVar[EmbeddingSpaceState]
    EMBEDDING_SPACE_STATE_BUILDING: _ClassVar[EmbeddingSpaceState]
    EMBEDDING_SPACE_STATE_RETIRED: _ClassVar[EmbeddingSpaceState]
EMBEDDING_SPACE_STATE_UNSPECIFIED: EmbeddingSpaceState
EMBEDDING_SPACE_STATE_ACTIVE: EmbeddingSpaceState
EMBEDDING_SPACE_STATE_BUILDING: EmbeddingSpaceState
EMBEDDING_SPACE_STATE_RETIRED: EmbeddingSpaceState

class AuditEvent(_message.Message):
    __slots__ = ("sequence", "action", "actor", "target", "details", "trace_id", "recorded_at", "hash", "previous_hash", "content_salt")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_HASH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_SALT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    action: str
    actor: str
    target: str
    details: str
    trace_id: str
    recorded_at: _timestamp_pb2.Timestamp
    hash: str
    previous_hash: str
    content_salt: str
    def __init__(self, sequence: _Optional[int] = ..., action: _Optional[str] = ..., actor: _Optional[str] = ..., target: _Optional[str] = ..., details: _Optional[str] = ..., trace_id: _Optional[str] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hash: _Optional[str] = ..., previous_hash: _Optional[str] = ..., content_salt: _Optional[str] = ...) -> None: ...

class ErasureSelector(_message.Message):
    __slots__ = ("subject", "source", "entity", "observation_id")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    subject: _reference_pb2.TypedId
    source: _reference_pb2.SourceIdentity
    entity: _reference_pb2.EntityRef
    observation_id: str
    def __init__(self, subject: _Optional[_Union[_reference_pb2.TypedId, _Mapping]] = ..., source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., observation_id: _Optional[str] = ...) -> None: ...

class ErasureReceipt(_message.Message):
    __slots__ = ("receipt_id", "erased_at", "counts", "actor", "reason", "audit_hash")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RECEIPT_ID_FIELD_NUMBER: _ClassVar[int]
    ERASED_AT_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AUDIT_HASH_FIELD_NUMBER: _ClassVar[int]
    receipt_id: str
    erased_at: _timestamp_pb2.Timestamp
    counts: _containers.ScalarMap[str, int]
    actor: str
    reason: str
    audit_hash: str
    def __init__(self, receipt_id: _Optional[str] = ..., erased_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., counts: _Optional[_Mapping[str, int]] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., audit_hash: _Optional[str] = ...) -> None: ...

class RollbackSummary(_message.Message):
    __slots__ = ("observations", "entities", "facts", "chunks", "sample")
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    observations: int
    entities: int
    facts: int
    chunks: int
    sample: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, observations: _Optional[int] = ..., entities: _Optional[int] = ..., facts: _Optional[int] = ..., chunks: _Optional[int] = ..., sample: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryHealth(_message.Message):
    __slots__ = ("never_recalled", "evidence_expiring", "conflicts", "rejected", "stripped", "embedding_backlog", "extraction_backlog", "dead_letters", "duplicate_proposals", "active_fingerprint", "served_fingerprints", "embedding_mismatch")
    class RejectedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NEVER_RECALLED_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_EXPIRING_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    STRIPPED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_BACKLOG_FIELD_NUMBER: _ClassVar[int]
    EXTRACTION_BACKLOG_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_PROPOSALS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SERVED_FINGERPRINTS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MISMATCH_FIELD_NUMBER: _ClassVar[int]
    never_recalled: int
    evidence_expiring: int
    conflicts: _containers.RepeatedCompositeFieldContainer[AgeBucket]
    rejected: _containers.ScalarMap[str, int]
    stripped: int
    embedding_backlog: _containers.RepeatedCompositeFieldContainer[AgeBucket]
    extraction_backlog: _containers.RepeatedCompositeFieldContainer[AgeBucket]
    dead_letters: int
    duplicate_proposals: int
    active_fingerprint: str
    served_fingerprints: _containers.RepeatedScalarFieldContainer[str]
    embedding_mismatch: bool
    def __init__(self, never_recalled: _Optional[int] = ..., evidence_expiring: _Optional[int] = ..., conflicts: _Optional[_Iterable[_Union[AgeBucket, _Mapping]]] = ..., rejected: _Optional[_Mapping[str, int]] = ..., stripped: _Optional[int] = ..., embedding_backlog: _Optional[_Iterable[_Union[AgeBucket, _Mapping]]] = ..., extraction_backlog: _Optional[_Iterable[_Union[AgeBucket, _Mapping]]] = ..., dead_letters: _Optional[int] = ..., duplicate_proposals: _Optional[int] = ..., active_fingerprint: _Optional[str] = ..., served_fingerprints: _Optional[_Iterable[str]] = ..., embedding_mismatch: bool = ...) -> None: ...

class AgeBucket(_message.Message):
    __slots__ = ("from_s", "count")
    FROM_S_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    from_s: int
    count: int
    def __init__(self, from_s: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class CapturedMessage(_message.Message):
    __slots__ = ("message_id", "author", "sent_at", "text", "uri", "bot", "replies_to")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    BOT_FIELD_NUMBER: _ClassVar[int]
    REPLIES_TO_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    author: _reference_pb2.TypedId
    sent_at: _timestamp_pb2.Timestamp
    text: str
    uri: str
    bot: bool
    replies_to: str
    def __init__(self, message_id: _Optional[str] = ..., author: _Optional[_Union[_reference_pb2.TypedId, _Mapping]] = ..., sent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ..., uri: _Optional[str] = ..., bot: bool = ..., replies_to: _Optional[str] = ...) -> None: ...

class CaptureResult(_message.Message):
    __slots__ = ("observation_id", "duplicate", "queued", "stripped_blocks", "scrubbed_secrets", "error", "empty")
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    STRIPPED_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    SCRUBBED_SECRETS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    EMPTY_FIELD_NUMBER: _ClassVar[int]
    observation_id: str
    duplicate: bool
    queued: bool
    stripped_blocks: int
    scrubbed_secrets: int
    error: _item_error_pb2.ItemError
    empty: bool
    def __init__(self, observation_id: _Optional[str] = ..., duplicate: bool = ..., queued: bool = ..., stripped_blocks: _Optional[int] = ..., scrubbed_secrets: _Optional[int] = ..., error: _Optional[_Union[_item_error_pb2.ItemError, _Mapping]] = ..., empty: bool = ...) -> None: ...

class ProposedFact(_message.Message):
    __slots__ = ("subject", "predicate", "object", "object_is_entity", "quote", "valid_from", "valid_to", "confidence")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    OBJECT_IS_ENTITY_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    subject: str
    predicate: str
    object: str
    object_is_entity: bool
    quote: str
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    confidence: float
    def __init__(self, subject: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[str] = ..., object_is_entity: bool = ..., quote: _Optional[str] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., confidence: _Optional[float] = ...) -> None: ...

class ProposalResult(_message.Message):
    __slots__ = ("fact_id", "quote_start", "quote_end", "error")
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    QUOTE_START_FIELD_NUMBER: _ClassVar[int]
    QUOTE_END_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    fact_id: str
    quote_start: int
    quote_end: int
    error: _item_error_pb2.ItemError
    def __init__(self, fact_id: _Optional[str] = ..., quote_start: _Optional[int] = ..., quote_end: _Optional[int] = ..., error: _Optional[_Union[_item_error_pb2.ItemError, _Mapping]] = ...) -> None: ...

class ExtractionQueue(_message.Message):
    __slots__ = ("depth", "oldest_age_s", "dead_letters", "dead_letter_errors")
    class DeadLetterErrorsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_S_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_ERRORS_FIELD_NUMBER: _ClassVar[int]
    depth: int
    oldest_age_s: int
    dead_letters: int
    dead_letter_errors: _containers.ScalarMap[str, str]
    def __init__(self, depth: _Optional[int] = ..., oldest_age_s: _Optional[int] = ..., dead_letters: _Optional[int] = ..., dead_letter_errors: _Optional[_Mapping[str, str]] = ...) -> None: ...

class EmbeddingSpace(_message.Message):
    __slots__ = ("fingerprint", "model", "dimension", "state", "vectors", "waiting", "created_at", "oldest_age_s", "poisoned")
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_S_FIELD_NUMBER: _ClassVar[int]
    POISONED_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    model: str
    dimension: int
    state: EmbeddingSpaceState
    vectors: int
    waiting: int
    created_at: _timestamp_pb2.Timestamp
    oldest_age_s: int
    poisoned: int
    def __init__(self, fingerprint: _Optional[str] = ..., model: _Optional[str] = ..., dimension: _Optional[int] = ..., state: _Optional[_Union[EmbeddingSpaceState, str]] = ..., vectors: _Optional[int] = ..., waiting: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., oldest_age_s: _Optional[int] = ..., poisoned: _Optional[int] = ...) -> None: ...
