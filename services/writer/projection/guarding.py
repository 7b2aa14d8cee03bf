"""Write roles (AC-5): which items an assertion guards, and which it changes."""

from collections.abc import Iterable, Iterator

from palimpsest.canonical import nfc

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.messages import Assertion, Observation
from services.writer.projection.rows import GuardWrite, Projection

FACT, ENTITY = 2, 3
"""Numbers of ItemKind; a record is an entity."""

Item = tuple[int, str]
"""Its kind, and its key or id."""


def guards_of(rows: AssertionRows, observation: Observation, assertion: Assertion | None) -> Iterator[GuardWrite]:
    """Who may change what an assertion says, as its permissions or those of its observation have it. None given: that
    stays as it was."""
    if assertion is not None and assertion.HasField("record") and assertion.record.HasField("permissions"):
        given = assertion.record.permissions
    elif observation.HasField("permissions"):
        given = observation.permissions
    else:
        return
    roles = tuple(sorted({nfc(role) for role in given.write_roles}))
    if not roles:
        return
    for entity in rows.entities:
        if entity.described:
            yield GuardWrite(ENTITY, entity.key, entity.stamp, roles)
    for fact in rows.facts:
        yield GuardWrite(FACT, fact.fact_id, fact.stamp, roles)


def changes(projection: Projection) -> Iterable[tuple[int, Item]]:
    """Which items each assertion changes, by its index: what it describes, asserts, ends or takes the place of. What it
    only names is not changed, nor are the ends of a fact or link."""
    for entity in projection.entities:
        if entity.described:
            yield entity.stamp.assertion_index, (ENTITY, entity.key)
    for fact in projection.facts:
        yield fact.stamp.assertion_index, (FACT, fact.fact_id)
    for supersession in projection.supersessions:
        yield supersession.stamp.assertion_index, (FACT, supersession.old_fact_id)
    for retraction in projection.retractions:
        yield retraction.stamp.assertion_index, (FACT, retraction.fact_id)
