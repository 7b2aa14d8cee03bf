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

class RuleScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_SCOPE_UNSPECIFIED: _ClassVar[RuleScope]
    RULE_SCOPE_GLOBAL: _ClassVar[RuleScope]
    RULE_SCOPE_ROLE: _ClassVar[RuleScope]
    RULE_SCOPE_AGENT: _ClassVar[RuleScope]
    RULE_SCOPE_TEMPORARY: _ClassVar[RuleScope]
RULE_SCOPE_UNSPECIFIED: RuleScope
RULE_SCOPE_GLOBAL: RuleScope
RULE_SCOPE_ROLE: RuleScope
RULE_SCOPE_AGENT: RuleScope
RULE_SCOPE_TEMPORARY: RuleScope

class Episode(_message.Message):
    __slots__ = ("entity", "summary", "actor", "action", "target", "result", "event_at", "context", "artifacts", "related", "importance", "confidence")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    EVENT_AT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    entity: _reference_pb2.EntityRef
    summary: str
    actor: _reference_pb2.EntityRef
    action: str
    target: _reference_pb2.EntityRef
    result: str
    event_at: _timestamp_pb2.Timestamp
    context: str
    artifacts: _containers.RepeatedScalarFieldContainer[str]
    related: _containers.RepeatedCompositeFieldContainer[_reference_pb2.EntityRef]
    importance: _reference_pb2.Importance
    confidence: float
    def __init__(self, entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., summary: _Optional[str] = ..., actor: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., action: _Optional[str] = ..., target: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., result: _Optional[str] = ..., event_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., context: _Optional[str] = ..., artifacts: _Optional[_Iterable[str]] = ..., related: _Optional[_Iterable[_Union[_reference_pb2.EntityRef, _Mapping]]] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., confidence: _Optional[float] = ...) -> None: ...

class MemoryRecord(_message.Message):
    __slots__ = ("entity", "summary", "skill", "reflection", "preference", "rule", "scopes", "confidence", "importance", "valid_from", "valid_to", "expires_at", "entities", "derived_from", "provenance", "permissions", "status")
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SKILL_FIELD_NUMBER: _ClassVar[int]
    REFLECTION_FIELD_NUMBER: _ClassVar[int]
    PREFERENCE_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FROM_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    entity: _reference_pb2.EntityRef
    summary: str
    skill: Skill
    reflection: Reflection
    preference: Preference
    rule: Rule
    scopes: _containers.RepeatedScalarFieldContainer[str]
    confidence: float
    importance: _reference_pb2.Importance
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    entities: _containers.RepeatedCompositeFieldContainer[_reference_pb2.EntityRef]
    derived_from: _containers.RepeatedCompositeFieldContainer[_reference_pb2.EntityRef]
    provenance: _reference_pb2.Provenance
    permissions: _reference_pb2.Permissions
    status: _reference_pb2.Status
    def __init__(self, entity: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., summary: _Optional[str] = ..., skill: _Optional[_Union[Skill, _Mapping]] = ..., reflection: _Optional[_Union[Reflection, _Mapping]] = ..., preference: _Optional[_Union[Preference, _Mapping]] = ..., rule: _Optional[_Union[Rule, _Mapping]] = ..., scopes: _Optional[_Iterable[str]] = ..., confidence: _Optional[float] = ..., importance: _Optional[_Union[_reference_pb2.Importance, str]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., entities: _Optional[_Iterable[_Union[_reference_pb2.EntityRef, _Mapping]]] = ..., derived_from: _Optional[_Iterable[_Union[_reference_pb2.EntityRef, _Mapping]]] = ..., provenance: _Optional[_Union[_reference_pb2.Provenance, _Mapping]] = ..., permissions: _Optional[_Union[_reference_pb2.Permissions, _Mapping]] = ..., status: _Optional[_Union[_reference_pb2.Status, str]] = ...) -> None: ...

class Skill(_message.Message):
    __slots__ = ("applies_when", "goal", "steps", "constraints", "tools", "expected_outcome", "failure_modes", "priority")
    APPLIES_WHEN_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FAILURE_MODES_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    applies_when: _containers.RepeatedScalarFieldContainer[str]
    goal: str
    steps: _containers.RepeatedScalarFieldContainer[str]
    constraints: _containers.RepeatedScalarFieldContainer[str]
    tools: _containers.RepeatedScalarFieldContainer[str]
    expected_outcome: _containers.RepeatedScalarFieldContainer[str]
    failure_modes: _containers.RepeatedScalarFieldContainer[str]
    priority: int
    def __init__(self, applies_when: _Optional[_Iterable[str]] = ..., goal: _Optional[str] = ..., steps: _Optional[_Iterable[str]] = ..., constraints: _Optional[_Iterable[str]] = ..., tools: _Optional[_Iterable[str]] = ..., expected_outcome: _Optional[_Iterable[str]] = ..., failure_modes: _Optional[_Iterable[str]] = ..., priority: _Optional[int] = ...) -> None: ...

class Reflection(_message.Message):
    __slots__ = ("trigger", "evidence", "lesson", "applicability")
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    LESSON_FIELD_NUMBER: _ClassVar[int]
    APPLICABILITY_FIELD_NUMBER: _ClassVar[int]
    trigger: str
    evidence: _containers.RepeatedScalarFieldContainer[str]
    lesson: str
    applicability: str
    def __init__(self, trigger: _Optional[str] = ..., evidence: _Optional[_Iterable[str]] = ..., lesson: _Optional[str] = ..., applicability: _Optional[str] = ...) -> None: ...

class Preference(_message.Message):
    __slots__ = ("holder", "topic", "value")
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    holder: _reference_pb2.EntityRef
    topic: str
    value: str
    def __init__(self, holder: _Optional[_Union[_reference_pb2.EntityRef, _Mapping]] = ..., topic: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class Rule(_message.Message):
    __slots__ = ("text", "scope", "holder")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    text: str
    scope: RuleScope
    holder: str
    def __init__(self, text: _Optional[str] = ..., scope: _Optional[_Union[RuleScope, str]] = ..., holder: _Optional[str] = ...) -> None: ...
