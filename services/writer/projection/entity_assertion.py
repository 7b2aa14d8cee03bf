"""What an `EntityAssertion` writes."""

from typing import Any

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context, attribute_fields, moment, object_members, serialized
from services.writer.projection.messages import EntityAssertion
from services.writer.projection.passages import NAMED
from services.writer.projection.references import normal_id
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import EntityWrite
from services.writer.projection.strict import check_attributes, check_kind
from shared.domain_packs.key_forms import default_kind

# What can be asserted of Status: ACTIVE, DRAFT, ARCHIVED. The others are outcomes.
ASSERTABLE_STATUSES = frozenset({1, 2, 5})

_SCALARS = ("kind", "title", "source_path", "url", "author", "confidence")
_MOMENTS = ("source_created_at", "source_updated_at", "expires_at")


def entity_rows(assertion: EntityAssertion, context: Context, index: int) -> AssertionRows:
    """Returns the write of the fields that are present. Raises `Refused`."""
    packs = context.packs
    if assertion.HasField("kind"):
        check_kind(packs, packs.kind(assertion.kind), "entity.kind")
    key = context.key_of(assertion.entity, "entity.entity")
    members = object_members(assertion.attributes, "entity.attributes")
    check_attributes(packs, members, context.kind_of(key), "entity.attributes")
    written = EntityWrite(
        key=key,
        stamp=context.stamp(index),
        default_kind=default_kind(key),
        fields=_fields(assertion, context),
        described=True,
    )
    return AssertionRows(entities=(written,))


def checked_status(status: int, field: str) -> dict[str, int]:
    """Returns the status as a field that is written, none where it is not said. Raises `Refused`."""
    if status and status not in ASSERTABLE_STATUSES:
        raise Refused(field, "must be ACTIVE, DRAFT or ARCHIVED; other statuses are never asserted")
    return {"status": status} if status else {}


def _fields(assertion: EntityAssertion, context: Context) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(assertion, name) for name in _SCALARS if assertion.HasField(name)}
    if assertion.HasField("kind"):
        found["kind"] = context.packs.kind(assertion.kind)
    for name in _MOMENTS:
        if assertion.HasField(name):
            found[name] = moment(getattr(assertion, name), f"entity.{name}")
    if assertion.HasField("source_id"):
        found["source_id"] = normal_id(assertion.source_id)
    if assertion.aliases:
        found["aliases"] = tuple(assertion.aliases)
    if assertion.aliases or assertion.HasField("title"):
        found[NAMED] = True
    if assertion.pii_categories:
        found["pii_categories"] = tuple(sorted(set(assertion.pii_categories)))
    if assertion.importance:
        found["importance"] = int(assertion.importance)
    provenance = serialized(assertion.provenance) or context.provenance
    if provenance:
        found["provenance"] = provenance
    found |= checked_status(assertion.status, "entity.status")
    found |= attribute_fields(assertion.attributes, "entity.attributes")
    return found | context.labels_field(assertion.scopes)
