"""What a `LinkAssertion` writes, and links that other assertions imply."""

from collections.abc import Iterable

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context
from services.writer.projection.messages import LinkAssertion
from services.writer.projection.references import named, normal_id
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import ClaimWrite, LinkWrite
from services.writer.projection.strict import RelationUse, check_kind, check_relation

MENTIONS = "MENTIONS"
DERIVED_FROM = "DERIVED_FROM"
IN_TRACE = "IN_TRACE"


def link_rows(assertion: LinkAssertion, context: Context, index: int) -> AssertionRows:
    """Returns a link between two keys, or a claim where the target is named in its source's terms. Raises `Refused`."""
    source = context.key_of(assertion.source, "link.source")
    weight = assertion.weight if assertion.HasField("weight") else 1.0
    target = assertion.WhichOneof("target")
    if target is None:
        raise Refused("link.target", "must name a target")
    stamp = context.stamp(index)
    if target == "entity":
        key = context.key_of(assertion.entity, "link.entity")
        _check(assertion, context, source, context.kind_of(key), "link.entity")
        link = LinkWrite(source, assertion.relation, key, weight, context.observation_id)
        return AssertionRows(entities=(named(source, stamp), named(key, stamp)), links=(link,))
    kind = context.packs.kind(assertion.reference.kind)
    check_kind(context.packs, kind, "link.reference.kind")
    _check(assertion, context, source, kind, "link.reference.kind")
    claim = ClaimWrite(
        source_key=source,
        relation=assertion.relation,
        target_kind=kind,
        target_ref=normal_id(assertion.reference.ref),
        source_hint=assertion.reference.source_hint,
        weight=weight,
        observation_id=context.observation_id,
    )
    return AssertionRows(entities=(named(source, stamp),), claims=(claim,))


def _check(assertion: LinkAssertion, context: Context, source: str, target_kind: str, target_field: str) -> None:
    if not context.packs.strict:
        return
    use = RelationUse(
        name=assertion.relation,
        name_field="link.relation",
        source_kind=context.kind_of(source),
        source_field="link.source",
        target_kind=target_kind,
        target_field=target_field,
    )
    check_relation(context.packs, use)


def links_to(context: Context, source_key: str, relation: str, target_keys: Iterable[str]) -> tuple[LinkWrite, ...]:
    """Returns full-weight links from one key to others, each target once, in order."""
    targets = dict.fromkeys(key for key in target_keys if key != source_key)
    return tuple(LinkWrite(source_key, relation, key, 1.0, context.observation_id) for key in targets)
