from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import document_pb2 as _document_pb2
from palimpsest.v1 import entity_pb2 as _entity_pb2
from palimpsest.v1 import fact_pb2 as _fact_pb2
from palimpsest.v1 import governance_pb2 as _governance_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import link_pb2 as _link_pb2
from palimpsest.v1 import namespace_pb2 as _namespace_pb2
from palimpsest.v1 import observation_pb2 as _observation_pb2
from palimpsest.v1 import reference_pb2 as _reference_pb2
from palimpsest.v1 import retrieval_pb2 as _retrieval_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SearchRequest(_message.Message):
    __slots__ = ("namespace", "query", "mode", "filter", "at", "limit", "keep_irrelevant", "caller_time", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    KEEP_IRRELEVANT_FIELD_NUMBER: _ClassVar[int]
    CALLER_TIME_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    query: str
    mode: _retrieval_pb2.SearchMode
    filter: _retrieval_pb2.SearchFilter
    at: _retrieval_pb2.TimePoint
    limit: int
    keep_irrelevant: bool
    caller_time: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., query: _Optional[str] = ..., mode: _Optional[_Union[_retrieval_pb2.SearchMode, str]] = ..., filter: _Optional[_Union[_retrieval_pb2.SearchFilter, _Mapping]] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., limit: _Optional[int] = ..., keep_irrelevant: bool = ..., caller_time: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("hits", "abstention", "degraded", "relevance", "query_truncated", "fingerprint")
    HITS_FIELD_NUMBER: _ClassVar[int]
    ABSTENTION_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    QUERY_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.SearchHit]
    abstention: _retrieval_pb2.Abstention
    degraded: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.Degradation]
    relevance: _retrieval_pb2.Relevance
    query_truncated: bool
    fingerprint: str
    def __init__(self, hits: _Optional[_Iterable[_Union[_retrieval_pb2.SearchHit, _Mapping]]] = ..., abstention: _Optional[_Union[_retrieval_pb2.Abstention, str]] = ..., degraded: _Optional[_Iterable[_Union[_retrieval_pb2.Degradation, _Mapping]]] = ..., relevance: _Optional[_Union[_retrieval_pb2.Relevance, _Mapping]] = ..., query_truncated: bool = ..., fingerprint: _Optional[str] = ...) -> None: ...

class CompileContextRequest(_message.Message):
    __slots__ = ("namespace", "query", "mode", "filter", "at", "budget", "since_pack_id", "mark_all_conflicts", "caller_time", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    SINCE_PACK_ID_FIELD_NUMBER: _ClassVar[int]
    MARK_ALL_CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    CALLER_TIME_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    query: str
    mode: _retrieval_pb2.SearchMode
    filter: _retrieval_pb2.SearchFilter
    at: _retrieval_pb2.TimePoint
    budget: _retrieval_pb2.Budget
    since_pack_id: str
    mark_all_conflicts: bool
    caller_time: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., query: _Optional[str] = ..., mode: _Optional[_Union[_retrieval_pb2.SearchMode, str]] = ..., filter: _Optional[_Union[_retrieval_pb2.SearchFilter, _Mapping]] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., budget: _Optional[_Union[_retrieval_pb2.Budget, _Mapping]] = ..., since_pack_id: _Optional[str] = ..., mark_all_conflicts: bool = ..., caller_time: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class CompileContextResponse(_message.Message):
    __slots__ = ("pack", "abstention", "degraded", "relevance", "trace_id", "query_truncated")
    PACK_FIELD_NUMBER: _ClassVar[int]
    ABSTENTION_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    pack: _retrieval_pb2.ContextPack
    abstention: _retrieval_pb2.Abstention
    degraded: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.Degradation]
    relevance: _retrieval_pb2.Relevance
    trace_id: str
    query_truncated: bool
    def __init__(self, pack: _Optional[_Union[_retrieval_pb2.ContextPack, _Mapping]] = ..., abstention: _Optional[_Union[_retrieval_pb2.Abstention, str]] = ..., degraded: _Optional[_Iterable[_Union[_retrieval_pb2.Degradation, _Mapping]]] = ..., relevance: _Optional[_Union[_retrieval_pb2.Relevance, _Mapping]] = ..., trace_id: _Optional[str] = ..., query_truncated: bool = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("namespace", "trace_id", "item_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    trace_id: str
    item_id: str
    def __init__(self, namespace: _Optional[str] = ..., trace_id: _Optional[str] = ..., item_id: _Optional[str] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("gate", "signals", "explanation", "provenance")
    GATE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    gate: _retrieval_pb2.Gate
    signals: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.SignalScore]
    explanation: str
    provenance: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.ProvenanceLink]
    def __init__(self, gate: _Optional[_Union[_retrieval_pb2.Gate, str]] = ..., signals: _Optional[_Iterable[_Union[_retrieval_pb2.SignalScore, _Mapping]]] = ..., explanation: _Optional[str] = ..., provenance: _Optional[_Iterable[_Union[_retrieval_pb2.ProvenanceLink, _Mapping]]] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("namespace", "pack_id", "answer")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PACK_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pack_id: str
    answer: str
    def __init__(self, namespace: _Optional[str] = ..., pack_id: _Optional[str] = ..., answer: _Optional[str] = ...) -> None: ...

class VerifyResponse(_message.Message):
    __slots__ = ("sentences",)
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    sentences: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.VerifiedSentence]
    def __init__(self, sentences: _Optional[_Iterable[_Union[_retrieval_pb2.VerifiedSentence, _Mapping]]] = ...) -> None: ...

class GetContextTraceRequest(_message.Message):
    __slots__ = ("namespace", "trace_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    trace_id: str
    def __init__(self, namespace: _Optional[str] = ..., trace_id: _Optional[str] = ...) -> None: ...

class GetContextTraceResponse(_message.Message):
    __slots__ = ("trace",)
    TRACE_FIELD_NUMBER: _ClassVar[int]
    trace: _retrieval_pb2.ContextTrace
    def __init__(self, trace: _Optional[_Union[_retrieval_pb2.ContextTrace, _Mapping]] = ...) -> None: ...

class TraverseRequest(_message.Message):
    __slots__ = ("namespace", "anchors", "anchor_text", "relations", "kinds", "direction", "depth", "at", "limit", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ANCHORS_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_TEXT_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    anchors: _containers.RepeatedCompositeFieldContainer[_reference_pb2.EntityRef]
    anchor_text: str
    relations: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    direction: _retrieval_pb2.Direction
    depth: int
    at: _retrieval_pb2.TimePoint
    limit: int
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., anchors: _Optional[_Iterable[_Union[_reference_pb2.EntityRef, _Mapping]]] = ..., anchor_text: _Optional[str] = ..., relations: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[str]] = ..., direction: _Optional[_Union[_retrieval_pb2.Direction, str]] = ..., depth: _Optional[int] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., limit: _Optional[int] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class TraverseResponse(_message.Message):
    __slots__ = ("paths", "entities", "truncated")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.GraphPath]
    entities: _containers.RepeatedCompositeFieldContainer[_entity_pb2.Entity]
    truncated: bool
    def __init__(self, paths: _Optional[_Iterable[_Union[_retrieval_pb2.GraphPath, _Mapping]]] = ..., entities: _Optional[_Iterable[_Union[_entity_pb2.Entity, _Mapping]]] = ..., truncated: bool = ...) -> None: ...

class GetEntityRequest(_message.Message):
    __slots__ = ("namespace", "entity", "at", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: _reference_pb2.EntityRef
    at: _retrieval_pb2.TimePoint
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetEntityResponse(_message.Message):
    __slots__ = ("entity",)
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    entity: _entity_pb2.Entity
    def __init__(self, entity: _Optional[_Union[_entity_pb2.Entity, _Mapping]] = ...) -> None: ...

class ListEntitiesRequest(_message.Message):
    __slots__ = ("namespace", "kinds", "key_prefix", "include_placeholders", "include_history", "page_size", "page_token", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    KEY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PLACEHOLDERS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_HISTORY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    key_prefix: str
    include_placeholders: bool
    include_history: bool
    page_size: int
    page_token: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., key_prefix: _Optional[str] = ..., include_placeholders: bool = ..., include_history: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ListEntitiesResponse(_message.Message):
    __slots__ = ("entities", "next_page_token")
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entities: _containers.RepeatedCompositeFieldContainer[_entity_pb2.Entity]
    next_page_token: str
    def __init__(self, entities: _Optional[_Iterable[_Union[_entity_pb2.Entity, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetFactRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "at", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    at: _retrieval_pb2.TimePoint
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetFactResponse(_message.Message):
    __slots__ = ("fact",)
    FACT_FIELD_NUMBER: _ClassVar[int]
    fact: _fact_pb2.Fact
    def __init__(self, fact: _Optional[_Union[_fact_pb2.Fact, _Mapping]] = ...) -> None: ...

class ListFactsRequest(_message.Message):
    __slots__ = ("namespace", "subject", "predicate", "object", "at", "include_history", "page_size", "page_token", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_HISTORY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    subject: _reference_pb2.EntityRef
    predicate: str
    object: _fact_pb2.FactObject
    at: _retrieval_pb2.TimePoint
    include_history: bool
    page_size: int
    page_token: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., subject: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., predicate: _Optional[str] = ..., object: _Optional[_Union[_fact_pb2.FactObject, _Mapping]] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., include_history: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ListFactsResponse(_message.Message):
    __slots__ = ("facts", "next_page_token")
    FACTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    facts: _containers.RepeatedCompositeFieldContainer[_fact_pb2.Fact]
    next_page_token: str
    def __init__(self, facts: _Optional[_Iterable[_Union[_fact_pb2.Fact, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetFactHistoryRequest(_message.Message):
    __slots__ = ("namespace", "fact_id", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FACT_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    fact_id: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., fact_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetFactHistoryResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_fact_pb2.FactEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[_fact_pb2.FactEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetObservationRequest(_message.Message):
    __slots__ = ("namespace", "observation_id", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    observation_id: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., observation_id: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetObservationResponse(_message.Message):
    __slots__ = ("observation",)
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    observation: _observation_pb2.StoredObservation
    def __init__(self, observation: _Optional[_Union[_observation_pb2.StoredObservation, _Mapping]] = ...) -> None: ...

class ListObservationsRequest(_message.Message):
    __slots__ = ("namespace", "system", "stream", "kinds", "subject", "actor", "occurred_from", "occurred_before", "page_size", "page_token", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_FROM_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    system: str
    stream: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    subject: _reference_pb2.TypedId
    actor: _reference_pb2.TypedId
    occurred_from: _timestamp_pb2.Timestamp
    occurred_before: _timestamp_pb2.Timestamp
    page_size: int
    page_token: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., system: _Optional[str] = ..., stream: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., subject: _Optional[_Union[_reference_pb2.TypedId, _Mapping]] = ..., actor: _Optional[_Union[_reference_pb2.TypedId, _Mapping]] = ..., occurred_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., occurred_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ListObservationsResponse(_message.Message):
    __slots__ = ("observations", "next_page_token")
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    observations: _containers.RepeatedCompositeFieldContainer[_observation_pb2.StoredObservation]
    next_page_token: str
    def __init__(self, observations: _Optional[_Iterable[_Union[_observation_pb2.StoredObservation, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetSourceRequest(_message.Message):
    __slots__ = ("namespace", "entity", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: _reference_pb2.EntityRef
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetSourceResponse(_message.Message):
    __slots__ = ("entity", "text", "content_source", "media_type", "provenance", "chain")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_SOURCE_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    entity: _entity_pb2.Entity
    text: str
    content_source: _document_pb2.ContentSource
    media_type: str
    provenance: _reference_pb2.Provenance
    chain: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.ProvenanceLink]
    def __init__(self, entity: _Optional[_Union[_entity_pb2.Entity, _Mapping]] = ..., text: _Optional[str] = ..., content_source: _Optional[_Union[_document_pb2.ContentSource, str]] = ..., media_type: _Optional[str] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., chain: _Optional[_Iterable[_Union[_retrieval_pb2.ProvenanceLink, _Mapping]]] = ...) -> None: ...

class ListChunksRequest(_message.Message):
    __slots__ = ("namespace", "entity", "page_size", "page_token", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: _reference_pb2.EntityRef
    page_size: int
    page_token: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ListChunksResponse(_message.Message):
    __slots__ = ("chunks", "next_page_token")
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    chunks: _containers.RepeatedCompositeFieldContainer[_document_pb2.Chunk]
    next_page_token: str
    def __init__(self, chunks: _Optional[_Iterable[_Union[_document_pb2.Chunk, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListNeighborsRequest(_message.Message):
    __slots__ = ("namespace", "entity", "relations", "direction", "at", "page_size", "page_token", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    entity: _reference_pb2.EntityRef
    relations: _containers.RepeatedScalarFieldContainer[str]
    direction: _retrieval_pb2.Direction
    at: _retrieval_pb2.TimePoint
    page_size: int
    page_token: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., relations: _Optional[_Iterable[str]] = ..., direction: _Optional[_Union[_retrieval_pb2.Direction, str]] = ..., at: _Optional[_Union[_retrieval_pb2.TimePoint, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ListNeighborsResponse(_message.Message):
    __slots__ = ("neighbors", "next_page_token")
    NEIGHBORS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    neighbors: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.Neighbor]
    next_page_token: str
    def __init__(self, neighbors: _Optional[_Iterable[_Union[_retrieval_pb2.Neighbor, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListSourcesRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSourcesResponse(_message.Message):
    __slots__ = ("sources", "next_page_token")
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedCompositeFieldContainer[_document_pb2.Source]
    next_page_token: str
    def __init__(self, sources: _Optional[_Iterable[_Union[_document_pb2.Source, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListLinkClaimsRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListLinkClaimsResponse(_message.Message):
    __slots__ = ("claims", "next_page_token")
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[_link_pb2.LinkClaim]
    next_page_token: str
    def __init__(self, claims: _Optional[_Iterable[_Union[_link_pb2.LinkClaim, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListDuplicateProposalsRequest(_message.Message):
    __slots__ = ("namespace", "state", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    state: _entity_pb2.DuplicateState
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., state: _Optional[_Union[_entity_pb2.DuplicateState, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDuplicateProposalsResponse(_message.Message):
    __slots__ = ("proposals", "next_page_token")
    PROPOSALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    proposals: _containers.RepeatedCompositeFieldContainer[_entity_pb2.DuplicateProposal]
    next_page_token: str
    def __init__(self, proposals: _Optional[_Iterable[_Union[_entity_pb2.DuplicateProposal, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetPackRequest(_message.Message):
    __slots__ = ("namespace", "pack", "version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pack: str
    version: int
    def __init__(self, namespace: _Optional[str] = ..., pack: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class GetPackResponse(_message.Message):
    __slots__ = ("pack",)
    PACK_FIELD_NUMBER: _ClassVar[int]
    pack: _namespace_pb2.DomainPack
    def __init__(self, pack: _Optional[_Union[_namespace_pb2.DomainPack, _Mapping]] = ...) -> None: ...

class ListPacksRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPacksResponse(_message.Message):
    __slots__ = ("packs", "next_page_token")
    PACKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    packs: _containers.RepeatedCompositeFieldContainer[_namespace_pb2.DomainPack]
    next_page_token: str
    def __init__(self, packs: _Optional[_Iterable[_Union[_namespace_pb2.DomainPack, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetNamespaceRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetNamespaceResponse(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: _namespace_pb2.Namespace
    def __init__(self, namespace: _Optional[_Union[_namespace_pb2.Namespace, _Mapping]] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: str
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "next_page_token")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    next_page_token: str
    def __init__(self, namespaces: _Optional[_Iterable[str]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetNamespaceStatisticsRequest(_message.Message):
    __slots__ = ("namespace", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetNamespaceStatisticsResponse(_message.Message):
    __slots__ = ("statistics",)
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    statistics: _namespace_pb2.NamespaceStatistics
    def __init__(self, statistics: _Optional[_Union[_namespace_pb2.NamespaceStatistics, _Mapping]] = ...) -> None: ...

class GetMemoryHealthRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetMemoryHealthResponse(_message.Message):
    __slots__ = ("health",)
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    health: _governance_pb2.MemoryHealth
    def __init__(self, health: _Optional[_Union[_governance_pb2.MemoryHealth, _Mapping]] = ...) -> None: ...

class GetExtractionQueueRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetExtractionQueueResponse(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: _governance_pb2.ExtractionQueue
    def __init__(self, queue: _Optional[_Union[_governance_pb2.ExtractionQueue, _Mapping]] = ...) -> None: ...

class ListAuditEventsRequest(_message.Message):
    __slots__ = ("namespace", "trace_id", "after_sequence", "page_size", "page_token", "action", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    trace_id: str
    after_sequence: int
    page_size: int
    page_token: str
    action: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., trace_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., action: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class ListAuditEventsResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_governance_pb2.AuditEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[_governance_pb2.AuditEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetErasureReceiptRequest(_message.Message):
    __slots__ = ("namespace", "receipt_id", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_ID_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    receipt_id: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., receipt_id: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetErasureReceiptResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: _governance_pb2.ErasureReceipt
    def __init__(self, receipt: _Optional[_Union[_governance_pb2.ErasureReceipt, _Mapping]] = ...) -> None: ...

class DigestRequest(_message.Message):
    __slots__ = ("namespace", "consistency_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consistency_token: str
    def __init__(self, namespace: _Optional[str] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class DigestResponse(_message.Message):
    __slots__ = ("digest", "tables", "rows")
    class TablesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class RowsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    digest: str
    tables: _containers.ScalarMap[str, str]
    rows: _containers.ScalarMap[str, int]
    def __init__(self, digest: _Optional[str] = ..., tables: _Optional[_Mapping[str, str]] = ..., rows: _Optional[_Mapping[str, int]] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("namespace", "cursor", "item_kinds", "scopes", "since")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    ITEM_KINDS_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cursor: str
    item_kinds: _containers.RepeatedScalarFieldContainer[_retrieval_pb2.ItemKind]
    scopes: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    def __init__(self, namespace: _Optional[str] = ..., cursor: _Optional[str] = ..., item_kinds: _Optional[_Iterable[_Union[_retrieval_pb2.ItemKind, str]]] = ..., scopes: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("changes", "cursor")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[_retrieval_pb2.Change]
    cursor: str
    def __init__(self, changes: _Optional[_Iterable[_Union[_retrieval_pb2.Change, _Mapping]]] = ..., cursor: _Optional[str] = ...) -> None: ...
