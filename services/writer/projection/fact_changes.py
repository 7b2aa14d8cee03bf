"""What retractions and corrections of stored facts write."""

from dataclasses import replace

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context, moment
from services.writer.projection.fact_assertion import fact_rows
from services.writer.projection.merge import CORRECTED_IN_PLACE
from services.writer.projection.messages import FactCorrection, FactRetraction
from services.writer.projection.rows import Retraction, Supersession
from services.writer.projection.supersession import NEVER_TRUE


def retraction_rows(assertion: FactRetraction, context: Context, index: int) -> AssertionRows:
    """Returns the end that is said of a fact; without one, when the observation happened. Raises `Refused`."""
    given = assertion.HasField("valid_to")
    end = moment(assertion.valid_to, "retraction.valid_to") if given else context.occurred_at
    return AssertionRows(retractions=(Retraction(assertion.fact_id, end, context.stamp(index), assertion.reason),))


def correction_rows(assertion: FactCorrection, context: Context, index: int) -> AssertionRows:
    """Returns the right fact and that it corrects the wrong one. Raises `Refused`.

    Without a replacement the wrong fact is retracted since `NEVER_TRUE`, before all time, because when it was said to
    begin is not known here; `supersession.resolve` takes that for a correction.
    """
    stamp = context.stamp(index)
    if not assertion.HasField("replacement"):
        return AssertionRows(retractions=(Retraction(assertion.fact_id, NEVER_TRUE, stamp, assertion.reason),))
    rows = fact_rows(assertion.replacement, context, index, field="correction.replacement")
    right = rows.facts[0].fact_id
    if right == assertion.fact_id:
        return _corrected_in_place(rows)
    correction = Supersession(assertion.fact_id, right, stamp, correction=True, reason=assertion.reason)
    others = tuple(each for each in rows.supersessions if each.old_fact_id != assertion.fact_id)
    return AssertionRows(entities=rows.entities, facts=rows.facts, supersessions=(correction, *others))


def _corrected_in_place(rows: AssertionRows) -> AssertionRows:
    """Only the end was wrong, so the identity stays: the fact gets the end that is right, none where none is given."""
    [fact] = rows.facts
    end = {"asserted_valid_to": fact.fields.get("asserted_valid_to"), CORRECTED_IN_PLACE: None}
    return replace(rows, facts=(replace(fact, fields={**fact.fields, **end}),))
