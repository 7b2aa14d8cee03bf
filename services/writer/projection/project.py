"""The projection of an observation: the rows that it should lead to, free of any order of arrival."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context, context_of
from services.writer.projection.document_assertion import document_rows
from services.writer.projection.entity_assertion import entity_rows
from services.writer.projection.episode import episode_rows
from services.writer.projection.fact_assertion import fact_rows
from services.writer.projection.fact_changes import correction_rows, retraction_rows
from services.writer.projection.guarding import guards_of
from services.writer.projection.link_assertion import link_rows
from services.writer.projection.memory_record import memory_record_rows
from services.writer.projection.messages import Assertion, Observation
from services.writer.projection.observed_content import observation_rows
from services.writer.projection.packs import FREE, Packs
from services.writer.projection.personal_data import personal_data
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import Failure, Passage, Projection
from shared.labels import split

Row = TypeVar("Row")

# Assertions that may have labels of their own, or replace what has.
_LABELLED = frozenset(
    field.name
    for field in Assertion.DESCRIPTOR.fields
    if field.message_type and {"scopes", "replacement"} & set(field.message_type.fields_by_name)
)

# Of google.rpc.Code.
_PERMISSION_DENIED = 7


def project(
    namespace: str,
    observation: Observation,
    observation_id: str,
    packs: Packs = FREE,
    *,
    denied: Collection[int] = (),
) -> Projection:
    """Returns the intended rows of an observation that satisfies the contract's limits, under the packs that act.

    An assertion that cannot be applied is a failure, by rising index, and leaves no rows; the others do (OB-4). Rows
    may repeat: stamps decide between writes of one field, and between documents of one entity. Of records of one key
    only the last one's passages are given. `denied` are the assertions that the caller had no role for.

    Raises:
        ValueError: `occurred_at` lies outside the years 0001 to 9999.
    """
    context = context_of(namespace, observation, observation_id, packs)
    rows = [_inheriting(observation_rows(observation, context), None, context)]
    failures: list[Failure] = []
    guards = list(guards_of(rows[0], observation, None))
    for index, assertion in enumerate(observation.assertions):
        if index in denied:
            failures.append(_denial(index))
            continue
        try:
            rows.append(_inheriting(_rows(assertion, context, index), assertion, context))
            guards += guards_of(rows[-1], observation, assertion)
        except Refused as refused:
            failures.append(_failure(refused, index))
    projection = Projection(
        namespace=namespace,
        observation_id=observation_id,
        occurred_at=context.occurred_at,
        scopes=context.scopes,
        entities=_all([each.entities for each in rows]),
        facts=_all([each.facts for each in rows]),
        supersessions=_all([each.supersessions for each in rows]),
        retractions=_all([each.retractions for each in rows]),
        links=_all([each.links for each in rows]),
        claims=_all([each.claims for each in rows]),
        documents=_all([each.documents for each in rows]),
        passages=_last_of_each(rows),
        guards=tuple(guards),
        failures=tuple(failures),
    )
    return replace(projection, personal_data=personal_data(projection)) if packs.protects else projection


def _rows(assertion: Assertion, context: Context, index: int) -> AssertionRows:
    match assertion.WhichOneof("assertion"):
        case "entity":
            return entity_rows(assertion.entity, context, index)
        case "fact":
            return fact_rows(assertion.fact, context, index)
        case "link":
            return link_rows(assertion.link, context, index)
        case "document":
            return document_rows(assertion.document, context, index)
        case "episode":
            return episode_rows(assertion.episode, context, index)
        case "record":
            return memory_record_rows(assertion.record, context, index)
        case "retraction":
            return retraction_rows(assertion.retraction, context, index)
        case "correction":
            return correction_rows(assertion.correction, context, index)
    raise Refused("assertion", "must assert something")


def _inheriting(rows: AssertionRows, assertion: Assertion | None, context: Context) -> AssertionRows:
    """The rows, in which each entity is named under the labels of the assertion that names it."""
    restricting, _ = split(context.labels(_own_labels(assertion) if assertion else ()))
    if not restricting:
        return rows
    return replace(rows, entities=tuple(replace(each, inherited=tuple(restricting)) for each in rows.entities))


def _own_labels(assertion: Assertion) -> Iterable[str]:
    kind = assertion.WhichOneof("assertion") or ""
    if kind not in _LABELLED:
        return ()
    said = getattr(assertion, kind)
    own: Iterable[str] = getattr(said, "replacement", said).scopes
    return own


def _denial(index: int) -> Failure:
    return Failure(
        index=index,
        code=_PERMISSION_DENIED,
        reason="PERMISSION_DENIED",
        field=f"assertions[{index}]",
        message="The caller has none of the roles that may change this.",
        metadata={"permission": "write"},
    )


def _failure(refused: Refused, index: int) -> Failure:
    path = f"assertions[{index}].{refused.field}"
    return Failure(
        index=index,
        code=refused.code,
        reason=refused.reason,
        field=path,
        message=refused.message,
        metadata=refused.metadata,
    )


def _all(rows: Iterable[tuple[Row, ...]]) -> tuple[Row, ...]:
    return tuple(chain.from_iterable(rows))


def _last_of_each(rows: Sequence[AssertionRows]) -> tuple[Passage, ...]:
    """Passages of an owner come from one assertion, whole: two of one record must not mix."""
    by_owner = {(each.passages[0].kind, each.passages[0].owner_key): each.passages for each in rows if each.passages}
    return tuple(chain.from_iterable(by_owner.values()))
