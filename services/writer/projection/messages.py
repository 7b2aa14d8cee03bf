"""The messages of the contract that projection reads: the one place of it that knows the generated modules."""

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.document_pb2 import DocumentAssertion, InputChunk
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FactAssertion, FactCorrection, FactObject, FactRetraction, Literal
from palimpsest.v1.link_pb2 import LinkAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Preference, Reflection, Rule, RuleScope, Skill
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, TypedId

__all__ = [
    "Assertion",
    "DocumentAssertion",
    "EntityAssertion",
    "EntityRef",
    "Episode",
    "FactAssertion",
    "FactCorrection",
    "FactObject",
    "FactRetraction",
    "InputChunk",
    "LinkAssertion",
    "Literal",
    "MemoryRecord",
    "Observation",
    "Preference",
    "Provenance",
    "Reflection",
    "Rule",
    "RuleScope",
    "Skill",
    "Timestamp",
    "TypedId",
]
