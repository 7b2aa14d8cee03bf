"""What a `FactAssertion` writes."""

from typing import Any

from palimpsest import ids

from services.writer.projection import json_object
from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context, attribute_fields, moment
from services.writer.projection.messages import EntityRef, FactAssertion, FactObject, Literal
from services.writer.projection.references import named
from services.writer.projection.refusal import Refused, cycle
from services.writer.projection.rows import EntityWrite, FactWrite, Supersession
from services.writer.projection.strict import RelationUse, check_relation
from shared.domain_packs.key_forms import bare_id

# EVIDENCE_CLASS_ASSERTED, meant where no class is said.
_ASSERTED = 4


def fact_rows(assertion: FactAssertion, context: Context, index: int, *, field: str = "fact") -> AssertionRows:
    """Returns the fact, its ends and what it supersedes. `field` is where the assertion stands. Raises `Refused`."""
    fact = _fact(assertion, context, index, field)
    if fact.fact_id in assertion.supersedes:
        raise cycle(f"{field}.supersedes")
    return AssertionRows(
        entities=_ends(fact),
        facts=(fact,),
        supersessions=tuple(
            Supersession(old_fact_id=old, new_fact_id=fact.fact_id, stamp=fact.stamp)
            for old in sorted(set(assertion.supersedes))
        ),
    )


def _fact(assertion: FactAssertion, context: Context, index: int, field: str) -> FactWrite:
    subject = context.key_of(assertion.subject, f"{field}.subject")
    if not assertion.predicate:
        raise Refused(f"{field}.predicate", "must not be empty")
    value = _canonical(assertion.object, context, f"{field}.object")
    kind, text = _identity(value, f"{field}.object")
    _check(assertion, context, (subject, kind, text), field)
    dated = assertion.HasField("valid_from")
    valid_from = moment(assertion.valid_from, f"{field}.valid_from") if dated else None
    return FactWrite(
        fact_id=ids.fact_id(
            context.namespace, subject, assertion.predicate, value, assertion.valid_from if dated else None
        ),
        subject_key=subject,
        predicate=assertion.predicate,
        object_type=kind,
        object_text=text,
        object_key=text if kind == "entity" else None,
        object=value.SerializeToString(deterministic=True),
        valid_from=valid_from,
        sentence=_sentence(subject, assertion.predicate, value),
        evidence=int(assertion.evidence) or _ASSERTED,
        confidence=assertion.confidence if assertion.HasField("confidence") else 1.0,
        stamp=context.stamp(index),
        fields=_fields(assertion, context, field),
    )


def _canonical(value: FactObject, context: Context, field: str) -> FactObject:
    """Returns the object under the key that the packs give it; itself where that is the key it has."""
    if value.WhichOneof("object") != "entity":
        return value
    key = context.key_of(value.entity, f"{field}.entity")
    return value if key == ids.entity_key(value.entity) else FactObject(entity=EntityRef(key=key))


def _check(assertion: FactAssertion, context: Context, ends: tuple[str, str, str], field: str) -> None:
    if not context.packs.strict:
        return
    subject, object_type, object_text = ends
    bounded = next((name for name in ("valid_from", "valid_to") if assertion.HasField(name)), "")
    use = RelationUse(
        name=assertion.predicate,
        name_field=f"{field}.predicate",
        source_kind=context.kind_of(subject),
        source_field=f"{field}.subject",
        target_kind=context.kind_of(object_text) if object_type == "entity" else object_type,
        target_field=f"{field}.object",
        interval_field=f"{field}.{bounded}" if bounded else "",
    )
    check_relation(context.packs, use)


def _identity(value: FactObject, field: str) -> tuple[str, str]:
    """Returns the object's type and key or canonical text. Raises `Refused`."""
    if value.WhichOneof("object") == "entity":
        return "entity", ids.entity_key(value.entity)
    kind = value.literal.WhichOneof("value")
    if kind is None:
        raise Refused(field, "must name an entity or hold a value")
    at = f"{field}.literal.{kind}"
    if kind == "timestamp":
        moment(value.literal.timestamp, at)
    try:
        _check_literal(kind, value.literal)
        return ids.object_identity(value)
    except ValueError as error:
        raise Refused(at, str(error)) from error


def _check_literal(kind: str, literal: Literal) -> None:
    if kind == "json":
        json_object.check(literal.json)
    elif kind == "decimal":
        json_object.check_number(literal.decimal)


def _sentence(subject: str, predicate: str, value: FactObject) -> str:
    return f"{bare_id(subject)} {predicate.lower().replace('_', ' ')} {_object_words(value)}"


def _object_words(value: FactObject) -> str:
    if value.WhichOneof("object") == "entity":
        return bare_id(ids.entity_key(value.entity))
    literal = value.literal
    match literal.WhichOneof("value"):
        case "timestamp":
            return moment(literal.timestamp, "").isoformat().replace("+00:00", "Z")
        case "text":
            return literal.text
        case "json":
            return literal.json
    return ids.object_identity(value)[1]


def _fields(assertion: FactAssertion, context: Context, field: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if assertion.HasField("valid_to"):
        found["asserted_valid_to"] = moment(assertion.valid_to, f"{field}.valid_to")
    if assertion.HasField("expires_at"):
        found["expires_at"] = moment(assertion.expires_at, f"{field}.expires_at")
    if assertion.importance:
        found["importance"] = int(assertion.importance)
    if assertion.HasField("source_path"):
        found["source_path"] = assertion.source_path
    found |= attribute_fields(assertion.attributes, f"{field}.attributes")
    return found | context.labels_field(assertion.scopes)


def _ends(fact: FactWrite) -> tuple[EntityWrite, ...]:
    keys = [fact.subject_key] if fact.object_key is None else [fact.subject_key, fact.object_key]
    return tuple(named(key, fact.stamp) for key in keys)
