"""What strict mode refuses: what no enabled pack allows (DP-2).

It judges by what the observation and its keys say, and by nothing that is stored, so that the order of arrival decides
nothing. The kind of an end is the one that an entity assertion of the observation gives it, else the type of its key,
else the one kind whose template the key fits. An end of which none of these tells the kind is allowed everywhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.writer.projection.packs import Packs
from services.writer.projection.refusal import Refused
from services.writer.projection.schemas import attributes_value
from shared.domain_packs.pack import Relation

REASON = "SCHEMA_VIOLATION"


@dataclass(frozen=True, slots=True)
class RelationUse:
    """A relation between two ends, with the paths of what names them. A literal's kind is its type."""

    name: str
    name_field: str
    source_kind: str
    source_field: str
    target_kind: str
    target_field: str
    interval_field: str = ""


def check_kind(packs: Packs, kind: str, field: str) -> None:
    """Raises `Refused` for a kind that no pack has."""
    if packs.strict and kind and packs.known_kind(kind) is None:
        raise _refused(field, "is of a kind that no enabled pack has", kind=kind)


def check_key(packs: Packs, key: str, kind: str, field: str) -> None:
    """Raises `Refused` for a key of an unknown kind, or one that does not have the form of its kind's keys."""
    if not packs.strict or not kind:
        return
    check_kind(packs, kind, field)
    known = packs.known_kind(kind)
    if known is None:
        return
    if known.template and known.template.match(key) is None:
        raise _refused(field, "must have the form of its kind's keys", kind=known.name)
    if known.key_schema and (breach := known.key_schema.breach(key)):
        raise _refused(field, breach, kind=known.name)


def check_attributes(packs: Packs, members: Mapping[str, str], kind: str, field: str) -> None:
    """Raises `Refused` for attributes that, by themselves, break the schema of their kind."""
    known = packs.known_kind(kind) if packs.strict else None
    if known and known.attributes_schema and (breach := known.attributes_schema.breach(attributes_value(members))):
        raise _refused(field, breach, kind=known.name)


def check_relation(packs: Packs, use: RelationUse) -> None:
    """Raises `Refused` for a relation that no pack has, or none between such ends, or none with an interval."""
    if not packs.strict:
        return
    definitions = packs.relations(use.name)
    if not definitions:
        raise _refused(use.name_field, "is a relation that no enabled pack has", relation=use.name)
    leaving = [each for each in definitions if _allows(packs, each.from_kinds, use.source_kind)]
    if not leaving:
        raise _refused(use.source_field, "is of a kind that the relation does not start from", kind=use.source_kind)
    fitting = [each for each in leaving if _allows(packs, each.to_kinds, use.target_kind)]
    if not fitting:
        raise _refused(use.target_field, "is of a kind that the relation does not lead to", kind=use.target_kind)
    _check_interval(fitting, use)


def _check_interval(fitting: Iterable[Relation], use: RelationUse) -> None:
    if use.interval_field and not any(each.temporal for each in fitting):
        raise _refused(use.interval_field, "must be absent: the relation has no intervals", relation=use.name)


def _allows(packs: Packs, kinds: Iterable[str], kind: str) -> bool:
    allowed = {packs.kind(each) for each in kinds}
    return not allowed or not kind or packs.kind(kind) in allowed


def _refused(field: str, message: str, **metadata: str) -> Refused:
    return Refused(field, message, reason=REASON, metadata=metadata)
