from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import document_pb2 as _document_pb2
from palimpsest.v1 import entity_pb2 as _entity_pb2
from palimpsest.v1 import fact_pb2 as _fact_pb2
from palimpsest.v1 import governance_pb2 as _governance_pb2
from palimpsest.v1 import item_error_pb2 as _item_error_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import link_pb2 as _link_pb2
from palimpsest.v1 import namespace_pb2 as _namespace_pb2
from palimpsest.v1 import observation_pb2 as _observation_pb2
from palimpsest.v1 import reference_pb2 as _reference_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DuplicateDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DUPLICATE_DECISION_UNSPECIFIED: _ClassVar[DuplicateDecision]
    DUPLICATE_DECISION_CONFIRM: _ClassVar[DuplicateDecision]
    DUPLICATE_DECISION_REFUSE: _ClassVar[DuplicateDecision]
    DUPLICATE_DECISION_UNDO: _ClassVar[DuplicateDecision]
DUPLICATE_DECISION_UNSPECIFIED: DuplicateDecision
DUPLICATE_DECISION_CONFIRM: DuplicateDecision
DUPLICATE_DECISION_REFUSE: DuplicateDecision
DUPLICATE_DECISION_UNDO: DuplicateDecision

class RecordObservationResult(_message.Message):
    __slots__ = ("recorded", "error")
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    recorded: _observation_pb2.RecordedObservation
    error: _item_error_pb2.ItemError
    def __init__(self, recorded: _Optional[_Union[_observation_pb2.RecordedObservation, _Mapping]] = ..., error: _Optional[_Union[_item_error_pb2.ItemError, _Mapping]] = ...) -> None: ...

class SnapshotHead(_message.Message):
    __slots__ = ("namespace", "source", "scope", "snapshot_id", "taken_at", "dry_run")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    TAKEN_AT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    source: str
    scope: str
    snapshot_id: str
    taken_at: _timestamp_pb2.Timestamp
    dry_run: bool
    def __init__(self, namespace: _Optional[str] = ..., source: _Optional[str] = ..., scope: _Optional[str] = ..., snapshot_id: _Optional[str] = ..., taken_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., dry_run: bool = ...) -> None: ...

class SnapshotItems(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[SnapshotItem]
    def __init__(self, items: _Optional[_Iterable[_Union[SnapshotItem, _Mapping]]] = ...) -> None: ...

class SnapshotItem(_message.Message):
    __slots__ = ("entity", "relations")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    entity: _entity_pb2.EntityAssertion
    relations: _containers.RepeatedCompositeFieldContainer[SnapshotRelation]
    def __init__(self, entity: _Optional[_Union[_entity_pb2.EntityAssertion, _Mapping]] = ..., relations: _Optional[_Iterable[_Union[SnapshotRelation, _Mapping]]] = ...) -> None: ...

class SnapshotRelation(_message.Message):
    __slots__ = ("relation", "object", "attributes")
    RELATION_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    relation: str
    object: _fact_pb2.FactObject
    attributes: str
    def __init__(self, relation: _Optional[str] = ..., object: _Optional[_Union[_fact_pb2.FactObject, _Mapping]] = ..., attributes: _Optional[str] = ...) -> None: ...

class RecordObservationRequest(_message.Message):
    __slots__ = ("namespace", "observation", "wait_for_embedding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    observation: _observation_pb2.Observation
    wait_for_embedding: bool
    def __init__(self, namespace: _Optional[str] = ..., observation: _Optional[_Union[_observation_pb2.Observation, _Mapping]] = ..., wait_for_embedding: bool = ...) -> None: ...

class RecordObservationResponse(_message.Message):
    __slots__ = ("result", "consistency_token")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    result: _observation_pb2.RecordedObservation
    consistency_token: str
    def __init__(self, result: _Optional[_Union[_observation_pb2.RecordedObservation, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class BatchRecordObservationsRequest(_message.Message):
    __slots__ = ("namespace", "observations", "wait_for_embedding")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    observations: _containers.RepeatedCompositeFieldContainer[_observation_pb2.Observation]
    wait_for_embedding: bool
    def __init__(self, namespace: _Optional[str] = ..., observations: _Optional[_Iterable[_Union[_observation_pb2.Observation, _Mapping]]] = ..., wait_for_embedding: bool = ...) -> None: ...

class BatchRecordObservationsResponse(_message.Message):
    __slots__ = ("results", "consistency_token")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[RecordObservationResult]
    consistency_token: str
    def __init__(self, results: _Optional[_Iterable[_Union[RecordObservationResult, _Mapping]]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class StreamObservationsRequest(_message.Message):
    __slots__ = ("sequence", "namespace", "observation")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    namespace: str
    observation: _observation_pb2.Observation
    def __init__(self, sequence: _Optional[int] = ..., namespace: _Optional[str] = ..., observation: _Optional[_Union[_observation_pb2.Observation, _Mapping]] = ...) -> None: ...

class StreamObservationsResponse(_message.Message):
    __slots__ = ("sequence", "result", "consistency_token")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    result: RecordObservationResult
    consistency_token: str
    def __init__(self, sequence: _Optional[int] = ..., result: _Optional[_Union[RecordObservationResult, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RetainArticleRequest(_message.Message):
    __slots__ = ("namespace", "source", "occurred_at", "article", "scopes", "provenance", "links", "vault_run_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    ARTICLE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    VAULT_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    source: _reference_pb2.SourceIdentity
    occurred_at: _timestamp_pb2.Timestamp
    article: _document_pb2.DocumentAssertion
    scopes: _containers.RepeatedScalarFieldContainer[str]
    provenance: _reference_pb2.Provenance
    links: _containers.RepeatedCompositeFieldContainer[_link_pb2.LinkAssertion]
    vault_run_id: str
    def __init__(self, namespace: _Optional[str] = ..., source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., article: _Optional[_Union[_document_pb2.DocumentAssertion, _Mapping]] = ..., scopes: _Optional[_Iterable[str]] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., links: _Optional[_Iterable[_Union[_link_pb2.LinkAssertion, _Mapping]]] = ..., vault_run_id: _Optional[str] = ...) -> None: ...

class RetainArticleResponse(_message.Message):
    __slots__ = ("observation", "chunk_count", "consistency_token")
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    observation: _observation_pb2.RecordedObservation
    chunk_count: int
    consistency_token: str
    def __init__(self, observation: _Optional[_Union[_observation_pb2.RecordedObservation, _Mapping]] = ..., chunk_count: _Optional[int] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RetainDocumentRequest(_message.Message):
    __slots__ = ("namespace", "source", "occurred_at", "document", "scopes", "provenance", "links")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    source: _reference_pb2.SourceIdentity
    occurred_at: _timestamp_pb2.Timestamp
    document: _document_pb2.DocumentAssertion
    scopes: _containers.RepeatedScalarFieldContainer[str]
    provenance: _reference_pb2.Provenance
    links: _containers.RepeatedCompositeFieldContainer[_link_pb2.LinkAssertion]
    def __init__(self, namespace: _Optional[str] = ..., source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., document: _Optional[_Union[_document_pb2.DocumentAssertion, _Mapping]] = ..., scopes: _Optional[_Iterable[str]] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., links: _Optional[_Iterable[_Union[_link_pb2.LinkAssertion, _Mapping]]] = ...) -> None: ...

class RetainDocumentResponse(_message.Message):
    __slots__ = ("observation", "chunk_count", "consistency_token")
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    CHUNK_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    observation: _observation_pb2.RecordedObservation
    chunk_count: int
    consistency_token: str
    def __init__(self, observation: _Optional[_Union[_observation_pb2.RecordedObservation, _Mapping]] = ..., chunk_count: _Optional[int] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class BeginVaultRunRequest(_message.Message):
    __slots__ = ("namespace", "vault")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    VAULT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    vault: str
    def __init__(self, namespace: _Optional[str] = ..., vault: _Optional[str] = ...) -> None: ...

class BeginVaultRunResponse(_message.Message):
    __slots__ = ("vault_run_id",)
    VAULT_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    vault_run_id: str
    def __init__(self, vault_run_id: _Optional[str] = ...) -> None: ...

class CompleteVaultRunRequest(_message.Message):
    __slots__ = ("namespace", "vault_run_id", "dry_run")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    VAULT_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    vault_run_id: str
    dry_run: bool
    def __init__(self, namespace: _Optional[str] = ..., vault_run_id: _Optional[str] = ..., dry_run: bool = ...) -> None: ...

class CompleteVaultRunResponse(_message.Message):
    __slots__ = ("met", "removed", "removed_keys", "consistency_token")
    MET_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_KEYS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    met: int
    removed: int
    removed_keys: _containers.RepeatedScalarFieldContainer[str]
    consistency_token: str
    def __init__(self, met: _Optional[int] = ..., removed: _Optional[int] = ..., removed_keys: _Optional[_Iterable[str]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ReconcileSnapshotRequest(_message.Message):
    __slots__ = ("head", "items")
    HEAD_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    head: SnapshotHead
    items: SnapshotItems
    def __init__(self, head: _Optional[_Union[SnapshotHead, _Mapping]] = ..., items: _Optional[_Union[SnapshotItems, _Mapping]] = ...) -> None: ...

class ReconcileSnapshotResponse(_message.Message):
    __slots__ = ("added", "changed", "removed", "unchanged", "facts_asserted", "facts_closed", "errors", "dry_run", "consistency_token")
    ADDED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    FACTS_ASSERTED_FIELD_NUMBER: _ClassVar[int]
    FACTS_CLOSED_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    added: int
    changed: int
    removed: int
    unchanged: int
    facts_asserted: int
    facts_closed: int
    errors: _containers.RepeatedCompositeFieldContainer[_item_error_pb2.ItemError]
    dry_run: bool
    consistency_token: str
    def __init__(self, added: _Optional[int] = ..., changed: _Optional[int] = ..., removed: _Optional[int] = ..., unchanged: _Optional[int] = ..., facts_asserted: _Optional[int] = ..., facts_closed: _Optional[int] = ..., errors: _Optional[_Iterable[_Union[_item_error_pb2.ItemError, _Mapping]]] = ..., dry_run: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class CorrectFactRequest(_message.Message):
    __slots__ = ("namespace", "correction", "source", "occurred_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CORRECTION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    correction: _fact_pb2.FactCorrection
    source: _reference_pb2.SourceIdentity
    occurred_at: _timestamp_pb2.Timestamp
    def __init__(self, namespace: _Optional[str] = ..., correction: _Optional[_Union[_fact_pb2.FactCorrection, _Mapping]] = ..., source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CorrectFactResponse(_message.Message):
    __slots__ = ("observation", "fact", "consistency_token")
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    observation: _observation_pb2.RecordedObservation
    fact: _fact_pb2.Fact
    consistency_token: str
    def __init__(self, observation: _Optional[_Union[_observation_pb2.RecordedObservation, _Mapping]] = ..., fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RetractFactRequest(_message.Message):
    __slots__ = ("namespace", "retraction", "source", "occurred_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RETRACTION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    retraction: _fact_pb2.FactRetraction
    source: _reference_pb2.SourceIdentity
    occurred_at: _timestamp_pb2.Timestamp
    def __init__(self, namespace: _Optional[str] = ..., retraction: _Optional[_Union[_fact_pb2.FactRetraction, _Mapping]] = ..., source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RetractFactResponse(_message.Message):
    __slots__ = ("observation", "fact", "consistency_token")
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    observation: _observation_pb2.RecordedObservation
    fact: _fact_pb2.Fact
    consistency_token: str
    def __init__(self, observation: _Optional[_Union[_observation_pb2.RecordedObservation, _Mapping]] = ..., fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class MarkObsoleteRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "exact_text", "reason", "evidence_observation_ids")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    EXACT_TEXT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_OBSERVATION_IDS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    exact_text: str
    reason: str
    evidence_observation_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., exact_text: _Optional[str] = ..., reason: _Optional[str] = ..., evidence_observation_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class MarkObsoleteResponse(_message.Message):
    __slots__ = ("item_id", "already", "consistency_token")
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    ALREADY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    item_id: str
    already: bool
    consistency_token: str
    def __init__(self, item_id: _Optional[str] = ..., already: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class UnmarkObsoleteRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class UnmarkObsoleteResponse(_message.Message):
    __slots__ = ("changed", "consistency_token")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    consistency_token: str
    def __init__(self, changed: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ConfirmItemRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "confirmed_at")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    confirmed_at: _timestamp_pb2.Timestamp
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ConfirmItemResponse(_message.Message):
    __slots__ = ("last_confirmed_at", "consistency_token")
    LAST_CONFIRMED_AT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    last_confirmed_at: _timestamp_pb2.Timestamp
    consistency_token: str
    def __init__(self, last_confirmed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ArchiveItemRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ArchiveItemResponse(_message.Message):
    __slots__ = ("changed", "consistency_token")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    consistency_token: str
    def __init__(self, changed: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RestoreItemRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class RestoreItemResponse(_message.Message):
    __slots__ = ("changed", "consistency_token")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    consistency_token: str
    def __init__(self, changed: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class DeleteItemRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteItemResponse(_message.Message):
    __slots__ = ("changed", "chunks", "consistency_token")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    chunks: int
    consistency_token: str
    def __init__(self, changed: bool = ..., chunks: _Optional[int] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class UndeleteItemRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "entity", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    entity: _reference_pb2.EntityRef
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class UndeleteItemResponse(_message.Message):
    __slots__ = ("changed", "consistency_token")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    changed: bool
    consistency_token: str
    def __init__(self, changed: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class DecideDuplicateRequest(_message.Message):
    __slots__ = ("namespace", "proposal_id", "decision", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PROPOSAL_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    proposal_id: str
    decision: DuplicateDecision
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., proposal_id: _Optional[str] = ..., decision: _Optional[_Union[DuplicateDecision, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class DecideDuplicateResponse(_message.Message):
    __slots__ = ("proposal", "consistency_token")
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    proposal: _entity_pb2.DuplicateProposal
    consistency_token: str
    def __init__(self, proposal: _Optional[_Union[_entity_pb2.DuplicateProposal, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RegisterSourceRequest(_message.Message):
    __slots__ = ("namespace", "source")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    source: _document_pb2.Source
    def __init__(self, namespace: _Optional[str] = ..., source: _Optional[_Union[_document_pb2.Source, _Mapping]] = ...) -> None: ...

class RegisterSourceResponse(_message.Message):
    __slots__ = ("source", "consistency_token")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    source: _document_pb2.Source
    consistency_token: str
    def __init__(self, source: _Optional[_Union[_document_pb2.Source, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class DeleteSourceRequest(_message.Message):
    __slots__ = ("namespace", "system", "stream", "purge", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    system: str
    stream: str
    purge: bool
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., system: _Optional[str] = ..., stream: _Optional[str] = ..., purge: bool = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteSourceResponse(_message.Message):
    __slots__ = ("entities", "facts", "chunks", "receipt", "consistency_token")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entities: int
    facts: int
    chunks: int
    receipt: _governance_pb2.ErasureReceipt
    consistency_token: str
    def __init__(self, entities: _Optional[int] = ..., facts: _Optional[int] = ..., chunks: _Optional[int] = ..., receipt: _Optional[_Union[_governance_pb2.ErasureReceipt, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RunCurationRequest(_message.Message):
    __slots__ = ("namespace", "max_items")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    max_items: int
    def __init__(self, namespace: _Optional[str] = ..., max_items: _Optional[int] = ...) -> None: ...

class RunCurationResponse(_message.Message):
    __slots__ = ("done", "claims_resolved", "duplicates_proposed", "trust_updated", "marked_stale", "marked_personal")
    DONE_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_RESOLVED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_PROPOSED_FIELD_NUMBER: _ClassVar[int]
    TRUST_UPDATED_FIELD_NUMBER: _ClassVar[int]
    MARKED_STALE_FIELD_NUMBER: _ClassVar[int]
    MARKED_PERSONAL_FIELD_NUMBER: _ClassVar[int]
    done: bool
    claims_resolved: int
    duplicates_proposed: int
    trust_updated: int
    marked_stale: int
    marked_personal: int
    def __init__(self, done: bool = ..., claims_resolved: _Optional[int] = ..., duplicates_proposed: _Optional[int] = ..., trust_updated: _Optional[int] = ..., marked_stale: _Optional[int] = ..., marked_personal: _Optional[int] = ...) -> None: ...

class CaptureMessagesRequest(_message.Message):
    __slots__ = ("namespace", "conversation_id", "system", "messages", "scopes")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_ID_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    conversation_id: str
    system: str
    messages: _containers.RepeatedCompositeFieldContainer[_governance_pb2.CapturedMessage]
    scopes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespace: _Optional[str] = ..., conversation_id: _Optional[str] = ..., system: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_governance_pb2.CapturedMessage, _Mapping]]] = ..., scopes: _Optional[_Iterable[str]] = ...) -> None: ...

class CaptureMessagesResponse(_message.Message):
    __slots__ = ("results", "consistency_token")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_governance_pb2.CaptureResult]
    consistency_token: str
    def __init__(self, results: _Optional[_Iterable[_Union[_governance_pb2.CaptureResult, _Mapping]]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ProposeFactsRequest(_message.Message):
    __slots__ = ("namespace", "observation_id", "facts", "extracted_by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    observation_id: str
    facts: _containers.RepeatedCompositeFieldContainer[_governance_pb2.ProposedFact]
    extracted_by: str
    def __init__(self, namespace: _Optional[str] = ..., observation_id: _Optional[str] = ..., facts: _Optional[_Iterable[_Union[_governance_pb2.ProposedFact, _Mapping]]] = ..., extracted_by: _Optional[str] = ...) -> None: ...

class ProposeFactsResponse(_message.Message):
    __slots__ = ("results", "consistency_token")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_governance_pb2.ProposalResult]
    consistency_token: str
    def __init__(self, results: _Optional[_Iterable[_Union[_governance_pb2.ProposalResult, _Mapping]]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RetryExtractionRequest(_message.Message):
    __slots__ = ("namespace", "observation_ids")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_IDS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    observation_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespace: _Optional[str] = ..., observation_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RetryExtractionResponse(_message.Message):
    __slots__ = ("requeued",)
    REQUEUED_FIELD_NUMBER: _ClassVar[int]
    requeued: int
    def __init__(self, requeued: _Optional[int] = ...) -> None: ...

class RegisterPackRequest(_message.Message):
    __slots__ = ("namespace", "pack")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pack: _namespace_pb2.DomainPack
    def __init__(self, namespace: _Optional[str] = ..., pack: _Optional[_Union[_namespace_pb2.DomainPack, _Mapping]] = ...) -> None: ...

class RegisterPackResponse(_message.Message):
    __slots__ = ("duplicate", "consistency_token")
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    duplicate: bool
    consistency_token: str
    def __init__(self, duplicate: bool = ..., consistency_token: _Optional[str] = ...) -> None: ...

class UpdateNamespaceSettingsRequest(_message.Message):
    __slots__ = ("namespace", "settings", "expected_version", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    settings: _namespace_pb2.NamespaceSettings
    expected_version: int
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., settings: _Optional[_Union[_namespace_pb2.NamespaceSettings, _Mapping]] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class UpdateNamespaceSettingsResponse(_message.Message):
    __slots__ = ("namespace", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: _namespace_pb2.Namespace
    consistency_token: str
    def __init__(self, namespace: _Optional[_Union[_namespace_pb2.Namespace, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class AppendAuditRequest(_message.Message):
    __slots__ = ("namespace", "action", "target", "details", "trace_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    action: str
    target: str
    details: str
    trace_id: str
    def __init__(self, namespace: _Optional[str] = ..., action: _Optional[str] = ..., target: _Optional[str] = ..., details: _Optional[str] = ..., trace_id: _Optional[str] = ...) -> None: ...

class AppendAuditResponse(_message.Message):
    __slots__ = ("event", "consistency_token")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    event: _governance_pb2.AuditEvent
    consistency_token: str
    def __init__(self, event: _Optional[_Union[_governance_pb2.AuditEvent, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RedactObservationRequest(_message.Message):
    __slots__ = ("namespace", "observation_id", "reason")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    observation_id: str
    reason: str
    def __init__(self, namespace: _Optional[str] = ..., observation_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class RedactObservationResponse(_message.Message):
    __slots__ = ("receipt", "consistency_token")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    receipt: _governance_pb2.ErasureReceipt
    consistency_token: str
    def __init__(self, receipt: _Optional[_Union[_governance_pb2.ErasureReceipt, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("namespace", "selector", "reason", "dry_run")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    selector: _governance_pb2.ErasureSelector
    reason: str
    dry_run: bool
    def __init__(self, namespace: _Optional[str] = ..., selector: _Optional[_Union[_governance_pb2.ErasureSelector, _Mapping]] = ..., reason: _Optional[str] = ..., dry_run: bool = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("receipt", "consistency_token")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    receipt: _governance_pb2.ErasureReceipt
    consistency_token: str
    def __init__(self, receipt: _Optional[_Union[_governance_pb2.ErasureReceipt, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class RollbackSourceRequest(_message.Message):
    __slots__ = ("namespace", "system", "stream", "recorded_from", "reason", "dry_run")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FROM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    system: str
    stream: str
    recorded_from: _timestamp_pb2.Timestamp
    reason: str
    dry_run: bool
    def __init__(self, namespace: _Optional[str] = ..., system: _Optional[str] = ..., stream: _Optional[str] = ..., recorded_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., dry_run: bool = ...) -> None: ...

class RollbackSourceResponse(_message.Message):
    __slots__ = ("summary", "consistency_token", "receipt")
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    summary: _governance_pb2.RollbackSummary
    consistency_token: str
    receipt: _governance_pb2.ErasureReceipt
    def __init__(self, summary: _Optional[_Union[_governance_pb2.RollbackSummary, _Mapping]] = ..., consistency_token: _Optional[str] = ..., receipt: _Optional[_Union[_governance_pb2.ErasureReceipt, _Mapping]] = ...) -> None: ...

class WaitForEmbeddingRequest(_message.Message):
    __slots__ = ("namespace", "entity_keys")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_KEYS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespace: _Optional[str] = ..., entity_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class WaitForEmbeddingResponse(_message.Message):
    __slots__ = ("poisoned",)
    POISONED_FIELD_NUMBER: _ClassVar[int]
    poisoned: int
    def __init__(self, poisoned: _Optional[int] = ...) -> None: ...

class GetEmbeddingStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetEmbeddingStatusResponse(_message.Message):
    __slots__ = ("spaces", "served_fingerprint", "mismatch", "queue_depth", "oldest_age_s", "poisoned", "served_fingerprints")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    SERVED_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    MISMATCH_FIELD_NUMBER: _ClassVar[int]
    QUEUE_DEPTH_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_S_FIELD_NUMBER: _ClassVar[int]
    POISONED_FIELD_NUMBER: _ClassVar[int]
    SERVED_FINGERPRINTS_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedCompositeFieldContainer[_governance_pb2.EmbeddingSpace]
    served_fingerprint: str
    mismatch: bool
    queue_depth: int
    oldest_age_s: int
    poisoned: int
    served_fingerprints: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, spaces: _Optional[_Iterable[_Union[_governance_pb2.EmbeddingSpace, _Mapping]]] = ..., served_fingerprint: _Optional[str] = ..., mismatch: bool = ..., queue_depth: _Optional[int] = ..., oldest_age_s: _Optional[int] = ..., poisoned: _Optional[int] = ..., served_fingerprints: _Optional[_Iterable[str]] = ...) -> None: ...

class StartReembeddingRequest(_message.Message):
    __slots__ = ("fingerprint",)
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    def __init__(self, fingerprint: _Optional[str] = ...) -> None: ...

class StartReembeddingResponse(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: _governance_pb2.EmbeddingSpace
    def __init__(self, space: _Optional[_Union[_governance_pb2.EmbeddingSpace, _Mapping]] = ...) -> None: ...

class SwitchEmbeddingRequest(_message.Message):
    __slots__ = ("fingerprint", "force")
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    force: bool
    def __init__(self, fingerprint: _Optional[str] = ..., force: bool = ...) -> None: ...

class SwitchEmbeddingResponse(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: _governance_pb2.EmbeddingSpace
    def __init__(self, space: _Optional[_Union[_governance_pb2.EmbeddingSpace, _Mapping]] = ...) -> None: ...

class RollbackEmbeddingRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RollbackEmbeddingResponse(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: _governance_pb2.EmbeddingSpace
    def __init__(self, space: _Optional[_Union[_governance_pb2.EmbeddingSpace, _Mapping]] = ...) -> None: ...

class DropEmbeddingRequest(_message.Message):
    __slots__ = ("fingerprint",)
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    def __init__(self, fingerprint: _Optional[str] = ...) -> None: ...

class DropEmbeddingResponse(_message.Message):
    __slots__ = ("dropped",)
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    dropped: int
    def __init__(self, dropped: _Optional[int] = ...) -> None: ...
