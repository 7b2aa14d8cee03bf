from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from palimpsest.v1 import retrieval_pb2 as _retrieval_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Cardinality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CARDINALITY_UNSPECIFIED: _ClassVar[Cardinality]
    CARDINALITY_MANY: _ClassVar[Cardinality]
    CARDINALITY_ONE: _ClassVar[Cardinality]

class ConflictPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFLICT_POLICY_UNSPECIFIED: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_KEEP: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_SUPERSEDE: _ClassVar[ConflictPolicy]
CARDINALITY_UNSPECIFIED: Cardinality
CARDINALITY_MANY: Cardinality
CARDINALITY_ONE: Cardinality
CONFLICT_POLICY_UNSPECIFIED: ConflictPolicy
CONFLICT_POLICY_KEEP: ConflictPolicy
CONFLICT_POLICY_SUPERSEDE: ConflictPolicy

class NamespaceSettings(_message.Message):
    __slots__ = ("packs", "strict", "text_search_configurations", "pii_protection", "retention", "context", "tuning", "capture_authors")
    class TuningEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    PACKS_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    TEXT_SEARCH_CONFIGURATIONS_FIELD_NUMBER: _ClassVar[int]
    PII_PROTECTION_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TUNING_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_AUTHORS_FIELD_NUMBER: _ClassVar[int]
    packs: _containers.RepeatedCompositeFieldContainer[PackEnablement]
    strict: bool
    text_search_configurations: _containers.RepeatedScalarFieldContainer[str]
    pii_protection: bool
    retention: Retention
    context: ContextDefaults
    tuning: _containers.ScalarMap[str, float]
    capture_authors: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, packs: _Optional[_Iterable[_Union[PackEnablement, _Mapping]]] = ..., strict: bool = ..., text_search_configurations: _Optional[_Iterable[str]] = ..., pii_protection: bool = ..., retention: _Optional[_Union[Retention, _Mapping]] = ..., context: _Optional[_Union[ContextDefaults, _Mapping]] = ..., tuning: _Optional[_Mapping[str, float]] = ..., capture_authors: _Optional[_Iterable[str]] = ...) -> None: ...

class PackEnablement(_message.Message):
    __slots__ = ("pack", "version")
    PACK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    pack: str
    version: int
    def __init__(self, pack: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class Retention(_message.Message):
    __slots__ = ("traces", "observations", "deleted")
    TRACES_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    traces: _duration_pb2.Duration
    observations: _duration_pb2.Duration
    deleted: _duration_pb2.Duration
    def __init__(self, traces: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., observations: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., deleted: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ContextDefaults(_message.Message):
    __slots__ = ("budget", "hypothesis_below")
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    HYPOTHESIS_BELOW_FIELD_NUMBER: _ClassVar[int]
    budget: _retrieval_pb2.Budget
    hypothesis_below: float
    def __init__(self, budget: _Optional[_Union[_retrieval_pb2.Budget, _Mapping]] = ..., hypothesis_below: _Optional[float] = ...) -> None: ...

class Namespace(_message.Message):
    __slots__ = ("namespace", "settings", "settings_version", "updated_at", "updated_by")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_VERSION_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    settings: NamespaceSettings
    settings_version: int
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    def __init__(self, namespace: _Optional[str] = ..., settings: _Optional[_Union[NamespaceSettings, _Mapping]] = ..., settings_version: _Optional[int] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ...) -> None: ...

class NamespaceStatistics(_message.Message):
    __slots__ = ("observations", "entities", "facts", "links", "chunks", "unembedded_chunks", "link_claims", "last_recorded_at")
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    UNEMBEDDED_CHUNKS_FIELD_NUMBER: _ClassVar[int]
    LINK_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    LAST_RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    observations: int
    entities: int
    facts: int
    links: int
    chunks: int
    unembedded_chunks: int
    link_claims: int
    last_recorded_at: _timestamp_pb2.Timestamp
    def __init__(self, observations: _Optional[int] = ..., entities: _Optional[int] = ..., facts: _Optional[int] = ..., links: _Optional[int] = ..., chunks: _Optional[int] = ..., unembedded_chunks: _Optional[int] = ..., link_claims: _Optional[int] = ..., last_recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DomainPack(_message.Message):
    __slots__ = ("pack", "version", "kinds", "relations", "description")
    PACK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    RELATIONS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    pack: str
    version: int
    kinds: _containers.RepeatedCompositeFieldContainer[PackKind]
    relations: _containers.RepeatedCompositeFieldContainer[PackRelation]
    description: str
    def __init__(self, pack: _Optional[str] = ..., version: _Optional[int] = ..., kinds: _Optional[_Iterable[_Union[PackKind, _Mapping]]] = ..., relations: _Optional[_Iterable[_Union[PackRelation, _Mapping]]] = ..., description: _Optional[str] = ...) -> None: ...

class PackKind(_message.Message):
    __slots__ = ("kind", "key_template", "key_schema", "aliases", "kind_aliases", "id_patterns", "attributes_schema")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    KEY_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    KIND_ALIASES_FIELD_NUMBER: _ClassVar[int]
    ID_PATTERNS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    kind: str
    key_template: str
    key_schema: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    kind_aliases: _containers.RepeatedScalarFieldContainer[str]
    id_patterns: _containers.RepeatedScalarFieldContainer[str]
    attributes_schema: str
    def __init__(self, kind: _Optional[str] = ..., key_template: _Optional[str] = ..., key_schema: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., kind_aliases: _Optional[_Iterable[str]] = ..., id_patterns: _Optional[_Iterable[str]] = ..., attributes_schema: _Optional[str] = ...) -> None: ...

class PackRelation(_message.Message):
    __slots__ = ("relation", "from_kinds", "to_kinds", "temporal", "cardinality", "on_conflict", "patterns")
    RELATION_FIELD_NUMBER: _ClassVar[int]
    FROM_KINDS_FIELD_NUMBER: _ClassVar[int]
    TO_KINDS_FIELD_NUMBER: _ClassVar[int]
    TEMPORAL_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ON_CONFLICT_FIELD_NUMBER: _ClassVar[int]
    PATTERNS_FIELD_NUMBER: _ClassVar[int]
    relation: str
    from_kinds: _containers.RepeatedScalarFieldContainer[str]
    to_kinds: _containers.RepeatedScalarFieldContainer[str]
    temporal: bool
    cardinality: Cardinality
    on_conflict: ConflictPolicy
    patterns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, relation: _Optional[str] = ..., from_kinds: _Optional[_Iterable[str]] = ..., to_kinds: _Optional[_Iterable[str]] = ..., temporal: bool = ..., cardinality: _Optional[_Union[Cardinality, str]] = ..., on_conflict: _Optional[_Union[ConflictPolicy, str]] = ..., patterns: _Optional[_Iterable[str]] = ...) -> None: ...
