from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import document_pb2 as _document_pb2
from palimpsest.v1 import entity_pb2 as _entity_pb2
from palimpsest.v1 import fact_pb2 as _fact_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import observation_pb2 as _observation_pb2
from palimpsest.v1 import reference_pb2 as _reference_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SearchMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_MODE_UNSPECIFIED: _ClassVar[SearchMode]
    SEARCH_MODE_FULL: _ClassVar[SearchMode]
    SEARCH_MODE_LEXICAL: _ClassVar[SearchMode]
    SEARCH_MODE_VECTOR: _ClassVar[SearchMode]
    SEARCH_MODE_GRAPH: _ClassVar[SearchMode]

class Signal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_UNSPECIFIED: _ClassVar[Signal]
    SIGNAL_LEXICAL: _ClassVar[Signal]
    SIGNAL_TRIGRAM: _ClassVar[Signal]
    SIGNAL_VECTOR: _ClassVar[Signal]
    SIGNAL_GRAPH: _ClassVar[Signal]
    SIGNAL_TIME: _ClassVar[Signal]
    SIGNAL_AUTHOR: _ClassVar[Signal]
    SIGNAL_NEIGHBOR: _ClassVar[Signal]
    SIGNAL_RERANK: _ClassVar[Signal]

class ItemKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ITEM_KIND_UNSPECIFIED: _ClassVar[ItemKind]
    ITEM_KIND_CHUNK: _ClassVar[ItemKind]
    ITEM_KIND_FACT: _ClassVar[ItemKind]
    ITEM_KIND_ENTITY: _ClassVar[ItemKind]
    ITEM_KIND_RECORD: _ClassVar[ItemKind]

class Abstention(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABSTENTION_UNSPECIFIED: _ClassVar[Abstention]
    ABSTENTION_NO_CANDIDATES: _ClassVar[Abstention]
    ABSTENTION_BELOW_THRESHOLD: _ClassVar[Abstention]
    ABSTENTION_DIFFUSE: _ClassVar[Abstention]

class DegradationCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEGRADATION_CAUSE_UNSPECIFIED: _ClassVar[DegradationCause]
    DEGRADATION_CAUSE_TIMEOUT: _ClassVar[DegradationCause]
    DEGRADATION_CAUSE_UNAVAILABLE: _ClassVar[DegradationCause]
    DEGRADATION_CAUSE_MODEL_MISMATCH: _ClassVar[DegradationCause]
    DEGRADATION_CAUSE_NO_VECTORS: _ClassVar[DegradationCause]

class DeltaState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELTA_STATE_UNSPECIFIED: _ClassVar[DeltaState]
    DELTA_STATE_NEW: _ClassVar[DeltaState]
    DELTA_STATE_CHANGED: _ClassVar[DeltaState]
    DELTA_STATE_NO_LONGER_TRUE: _ClassVar[DeltaState]

class Gate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GATE_UNSPECIFIED: _ClassVar[Gate]
    GATE_VISIBILITY: _ClassVar[Gate]
    GATE_APPLICABILITY: _ClassVar[Gate]
    GATE_SUPERSEDED: _ClassVar[Gate]
    GATE_EVIDENCE_LOST: _ClassVar[Gate]
    GATE_FLOOR: _ClassVar[Gate]
    GATE_CAP: _ClassVar[Gate]
    GATE_DUPLICATE: _ClassVar[Gate]
    GATE_BUDGET: _ClassVar[Gate]
    GATE_NOT_FOUND: _ClassVar[Gate]
    GATE_FILTER: _ClassVar[Gate]
    GATE_STATUS: _ClassVar[Gate]

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTION_UNSPECIFIED: _ClassVar[Direction]
    DIRECTION_OUTGOING: _ClassVar[Direction]
    DIRECTION_INCOMING: _ClassVar[Direction]
    DIRECTION_BOTH: _ClassVar[Direction]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_SUPPORTED: _ClassVar[Verdict]
    VERDICT_CONTRADICTED: _ClassVar[Verdict]
    VERDICT_NOT_IN_MEMORY: _ClassVar[Verdict]

class ChangeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_TYPE_UNSPECIFIED: _ClassVar[ChangeType]
    CHANGE_TYPE_ADDED: _ClassVar[ChangeType]
    CHANGE_TYPE_CHANGED: _ClassVar[ChangeType]
    CHANGE_TYPE_REMOVED: _ClassVar[ChangeType]
SEARCH_MODE_UNSPECIFIED: SearchMode
SEARCH_MODE_FULL: SearchMode
SEARCH_MODE_LEXICAL: SearchMode
SEARCH_MODE_VECTOR: SearchMode
SEARCH_MODE_GRAPH: SearchMode
SIGNAL_UNSPECIFIED: Signal
SIGNAL_LEXICAL: Signal
SIGNAL_TRIGRAM: Signal
SIGNAL_VECTOR: Signal
SIGNAL_GRAPH: Signal
SIGNAL_TIME: Signal
SIGNAL_AUTHOR: Signal
SIGNAL_NEIGHBOR: Signal
SIGNAL_RERANK: Signal
ITEM_KIND_UNSPECIFIED: ItemKind
ITEM_KIND_CHUNK: ItemKind
ITEM_KIND_FACT: ItemKind
ITEM_KIND_ENTITY: ItemKind
ITEM_KIND_RECORD: ItemKind
ABSTENTION_UNSPECIFIED: Abstention
ABSTENTION_NO_CANDIDATES: Abstention
ABSTENTION_BELOW_THRESHOLD: Abstention
ABSTENTION_DIFFUSE: Abstention
DEGRADATION_CAUSE_UNSPECIFIED: DegradationCause
DEGRADATION_CAUSE_TIMEOUT: DegradationCause
DEGRADATION_CAUSE_UNAVAILABLE: DegradationCause
DEGRADATION_CAUSE_MODEL_MISMATCH: DegradationCause
DEGRADATION_CAUSE_NO_VECTORS: DegradationCause
DELTA_STATE_UNSPECIFIED: DeltaState
DELTA_STATE_NEW: DeltaState
DELTA_STATE_CHANGED: DeltaState
DELTA_STATE_NO_LONGER_TRUE: DeltaState
GATE_UNSPECIFIED: Gate
GATE_VISIBILITY: Gate
GATE_APPLICABILITY: Gate
GATE_SUPERSEDED: Gate
GATE_EVIDENCE_LOST: Gate
GATE_FLOOR: Gate
GATE_CAP: Gate
GATE_DUPLICATE: Gate
GATE_BUDGET: Gate
GATE_NOT_FOUND: Gate
GATE_FILTER: Gate
GATE_STATUS: Gate
DIRECTION_UNSPECIFIED: Direction
DIRECTION_OUTGOING: Direction
DIRECTION_INCOMING: Direction
DIRECTION_BOTH: Direction
VERDICT_UNSPECIFIED: Verdict
VERDICT_SUPPORTED: Verdict
VERDICT_CONTRADICTED: Verdict
VERDICT_NOT_IN_MEMORY: Verdict
CHANGE_TYPE_UNSPECIFIED: ChangeType
CHANGE_TYPE_ADDED: ChangeType
CHANGE_TYPE_CHANGED: ChangeType
CHANGE_TYPE_REMOVED: ChangeType

class SignalScore(_message.Message):
    __slots__ = ("signal", "raw", "contribution", "rank")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    signal: Signal
    raw: float
    contribution: float
    rank: int
    def __init__(self, signal: _Optional[_Union[Signal, str]] = ..., raw: _Optional[float] = ..., contribution: _Optional[float] = ..., rank: _Optional[int] = ...) -> None: ...

class ProvenanceLink(_message.Message):
    __slots__ = ("observation_id", "source", "occurred_at", "actor_key", "uri")
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_KEY_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    observation_id: str
    source: _reference_pb2.SourceIdentity
    occurred_at: _timestamp_pb2.Timestamp
    actor_key: str
    uri: str
    def __init__(self, observation_id: _Optional[str] = ..., source: _Optional[_Union[_reference_pb2.SourceIdentity, _Mapping]] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., actor_key: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class SearchFilter(_message.Message):
    __slots__ = ("item_kinds", "entity_kinds", "scopes", "meta", "source_systems", "occurred_from", "occurred_before", "include_drafts", "entities")
    ITEM_KINDS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_KINDS_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    SOURCE_SYSTEMS_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_FROM_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DRAFTS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    item_kinds: _containers.RepeatedScalarFieldContainer[ItemKind]
    entity_kinds: _containers.RepeatedScalarFieldContainer[str]
    scopes: _containers.RepeatedScalarFieldContainer[str]
    meta: _containers.RepeatedCompositeFieldContainer[MetaCondition]
    source_systems: _containers.RepeatedScalarFieldContainer[str]
    occurred_from: _timestamp_pb2.Timestamp
    occurred_before: _timestamp_pb2.Timestamp
    include_drafts: bool
    entities: _containers.RepeatedCompositeFieldContainer[_reference_pb2.EntityRef]
    def __init__(self, item_kinds: _Optional[_Iterable[_Union[ItemKind, str]]] = ..., entity_kinds: _Optional[_Iterable[str]] = ..., scopes: _Optional[_Iterable[str]] = ..., meta: _Optional[_Iterable[_Union[MetaCondition, _Mapping]]] = ..., source_systems: _Optional[_Iterable[str]] = ..., occurred_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., occurred_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., include_drafts: bool = ..., entities: _Optional[_Iterable[_Union[_reference_pb2.EntityRef, _Mapping]]] = ...) -> None: ...

class MetaCondition(_message.Message):
    __slots__ = ("key", "equals", "any_of", "range")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EQUALS_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    key: str
    equals: str
    any_of: MetaValues
    range: NumberRange
    def __init__(self, key: _Optional[str] = ..., equals: _Optional[str] = ..., any_of: _Optional[_Union[MetaValues, _Mapping]] = ..., range: _Optional[_Union[NumberRange, _Mapping]] = ...) -> None: ...

class MetaValues(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class NumberRange(_message.Message):
    __slots__ = ("minimum", "maximum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    minimum: float
    maximum: float
    def __init__(self, minimum: _Optional[float] = ..., maximum: _Optional[float] = ...) -> None: ...

class TimePoint(_message.Message):
    __slots__ = ("as_of", "known_at")
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    KNOWN_AT_FIELD_NUMBER: _ClassVar[int]
    as_of: _timestamp_pb2.Timestamp
    known_at: _timestamp_pb2.Timestamp
    def __init__(self, as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., known_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("kind", "item_id", "chunk", "fact", "entity", "score", "signals", "provenance", "status")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    kind: ItemKind
    item_id: str
    chunk: _document_pb2.Chunk
    fact: _fact_pb2.Fact
    entity: _entity_pb2.Entity
    score: float
    signals: _containers.RepeatedCompositeFieldContainer[SignalScore]
    provenance: _containers.RepeatedCompositeFieldContainer[ProvenanceLink]
    status: _reference_pb2.Status
    def __init__(self, kind: _Optional[_Union[ItemKind, str]] = ..., item_id: _Optional[str] = ..., chunk: _Optional[_Union[_document_pb2.Chunk, _Mapping]] = ..., fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., entity: _Optional[_Union[_entity_pb2.Entity, _Mapping]] = ..., score: _Optional[float] = ..., signals: _Optional[_Iterable[_Union[SignalScore, _Mapping]]] = ..., provenance: _Optional[_Iterable[_Union[ProvenanceLink, _Mapping]]] = ..., status: _Optional[_Union[_reference_pb2.Status, str]] = ...) -> None: ...

class Relevance(_message.Message):
    __slots__ = ("score", "threshold", "top_cosine", "cosine_gap", "word_coverage")
    SCORE_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    TOP_COSINE_FIELD_NUMBER: _ClassVar[int]
    COSINE_GAP_FIELD_NUMBER: _ClassVar[int]
    WORD_COVERAGE_FIELD_NUMBER: _ClassVar[int]
    score: float
    threshold: float
    top_cosine: float
    cosine_gap: float
    word_coverage: float
    def __init__(self, score: _Optional[float] = ..., threshold: _Optional[float] = ..., top_cosine: _Optional[float] = ..., cosine_gap: _Optional[float] = ..., word_coverage: _Optional[float] = ...) -> None: ...

class Degradation(_message.Message):
    __slots__ = ("signal", "cause")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    signal: Signal
    cause: DegradationCause
    def __init__(self, signal: _Optional[_Union[Signal, str]] = ..., cause: _Optional[_Union[DegradationCause, str]] = ...) -> None: ...

class Budget(_message.Message):
    __slots__ = ("characters", "tokens")
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    characters: int
    tokens: int
    def __init__(self, characters: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class ContextPack(_message.Message):
    __slots__ = ("pack_id", "items", "rendered", "characters", "tokens", "budget", "omitted_count", "omitted")
    PACK_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    RENDERED_FIELD_NUMBER: _ClassVar[int]
    CHARACTERS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    OMITTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    pack_id: str
    items: _containers.RepeatedCompositeFieldContainer[PackItem]
    rendered: str
    characters: int
    tokens: int
    budget: Budget
    omitted_count: int
    omitted: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pack_id: _Optional[str] = ..., items: _Optional[_Iterable[_Union[PackItem, _Mapping]]] = ..., rendered: _Optional[str] = ..., characters: _Optional[int] = ..., tokens: _Optional[int] = ..., budget: _Optional[_Union[Budget, _Mapping]] = ..., omitted_count: _Optional[int] = ..., omitted: _Optional[_Iterable[str]] = ...) -> None: ...

class PackItem(_message.Message):
    __slots__ = ("number", "kind", "item_id", "text", "score", "signals", "status", "valid_from", "valid_to", "evidence", "confidence", "hypothesis", "conflict", "rival_fact_ids", "provenance", "importance", "delta")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    RIVAL_FACT_IDS_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    number: int
    kind: ItemKind
    item_id: str
    text: str
    score: float
    signals: _containers.RepeatedCompositeFieldContainer[SignalScore]
    status: _reference_pb2.Status
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    evidence: _fact_pb2.EvidenceClass
    confidence: float
    hypothesis: bool
    conflict: bool
    rival_fact_ids: _containers.RepeatedScalarFieldContainer[str]
    provenance: _containers.RepeatedCompositeFieldContainer[ProvenanceLink]
    importance: _reference_pb2.Importance
    delta: DeltaState
    def __init__(self, number: _Optional[int] = ..., kind: _Optional[_Union[ItemKind, str]] = ..., item_id: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., signals: _Optional[_Iterable[_Union[SignalScore, _Mapping]]] = ..., status: _Optional[_Union[_reference_pb2.Status, str]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., evidence: _Optional[_Union[_fact_pb2.EvidenceClass, str]] = ..., confidence: _Optional[float] = ..., hypothesis: bool = ..., conflict: bool = ..., rival_fact_ids: _Optional[_Iterable[str]] = ..., provenance: _Optional[_Iterable[_Union[ProvenanceLink, _Mapping]]] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., delta: _Optional[_Union[DeltaState, str]] = ...) -> None: ...

class ContextTrace(_message.Message):
    __slots__ = ("trace_id", "namespace", "compiled_at", "query", "pack_id", "candidates", "timings_ms", "degraded", "abstention", "relevance")
    class TimingsMsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COMPILED_AT_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    PACK_ID_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_MS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    ABSTENTION_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    namespace: str
    compiled_at: _timestamp_pb2.Timestamp
    query: str
    pack_id: str
    candidates: _containers.RepeatedCompositeFieldContainer[TracedCandidate]
    timings_ms: _containers.ScalarMap[str, float]
    degraded: _containers.RepeatedCompositeFieldContainer[Degradation]
    abstention: Abstention
    relevance: Relevance
    def __init__(self, trace_id: _Optional[str] = ..., namespace: _Optional[str] = ..., compiled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., query: _Optional[str] = ..., pack_id: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[TracedCandidate, _Mapping]]] = ..., timings_ms: _Optional[_Mapping[str, float]] = ..., degraded: _Optional[_Iterable[_Union[Degradation, _Mapping]]] = ..., abstention: _Optional[_Union[Abstention, str]] = ..., relevance: _Optional[_Union[Relevance, _Mapping]] = ...) -> None: ...

class TracedCandidate(_message.Message):
    __slots__ = ("item_id", "score", "signals", "gate")
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    item_id: str
    score: float
    signals: _containers.RepeatedCompositeFieldContainer[SignalScore]
    gate: Gate
    def __init__(self, item_id: _Optional[str] = ..., score: _Optional[float] = ..., signals: _Optional[_Iterable[_Union[SignalScore, _Mapping]]] = ..., gate: _Optional[_Union[Gate, str]] = ...) -> None: ...

class GraphPath(_message.Message):
    __slots__ = ("entity_keys", "steps", "weight")
    ENTITY_KEYS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    entity_keys: _containers.RepeatedScalarFieldContainer[str]
    steps: _containers.RepeatedCompositeFieldContainer[GraphStep]
    weight: float
    def __init__(self, entity_keys: _Optional[_Iterable[str]] = ..., steps: _Optional[_Iterable[_Union[GraphStep, _Mapping]]] = ..., weight: _Optional[float] = ...) -> None: ...

class GraphStep(_message.Message):
    __slots__ = ("relation", "reversed", "weight", "fact_id")
    RELATION_FIELD_NUMBER: _ClassVar[int]
    REVERSED_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    relation: str
    reversed: bool
    weight: float
    fact_id: str
    def __init__(self, relation: _Optional[str] = ..., reversed: bool = ..., weight: _Optional[float] = ..., fact_id: _Optional[str] = ...) -> None: ...

class Neighbor(_message.Message):
    __slots__ = ("entity", "step")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    entity: _entity_pb2.Entity
    step: GraphStep
    def __init__(self, entity: _Optional[_Union[_entity_pb2.Entity, _Mapping]] = ..., step: _Optional[_Union[GraphStep, _Mapping]] = ...) -> None: ...

class VerifiedSentence(_message.Message):
    __slots__ = ("sentence", "start", "end", "verdict", "item_number", "quote")
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    ITEM_NUMBER_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    sentence: str
    start: int
    end: int
    verdict: Verdict
    item_number: int
    quote: str
    def __init__(self, sentence: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., item_number: _Optional[int] = ..., quote: _Optional[str] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("cursor", "type", "committed_at", "observation", "entity", "fact", "item_id", "erased_key_hash", "item_kind")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    FACT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    ERASED_KEY_HASH_FIELD_NUMBER: _ClassVar[int]
    ITEM_KIND_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    type: ChangeType
    committed_at: _timestamp_pb2.Timestamp
    observation: _observation_pb2.StoredObservation
    entity: _entity_pb2.Entity
    fact: _fact_pb2.Fact
    item_id: str
    erased_key_hash: str
    item_kind: ItemKind
    def __init__(self, cursor: _Optional[str] = ..., type: _Optional[_Union[ChangeType, str]] = ..., committed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., observation: _Optional[_Union[_observation_pb2.StoredObservation, _Mapping]] = ..., entity: _Optional[_Union[_entity_pb2.Entity, _Mapping]] = ..., fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ..., item_id: _Optional[str] = ..., erased_key_hash: _Optional[str] = ..., item_kind: _Optional[_Union[ItemKind, str]] = ...) -> None: ...
