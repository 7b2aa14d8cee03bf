"""Between the contract's messages about extraction and the writer's values."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC

from palimpsest import ids
from palimpsest.v1.fact_pb2 import FactAssertion, FactObject, Literal
from palimpsest.v1.governance_pb2 import ProposalResult, ProposedFact
from palimpsest.v1.link_pb2 import LinkAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, SourceIdentity

from services.writer.commands.propose_facts import Accepted
from services.writer.extraction.proposals import (
    CONFIDENCE,
    Derived,
    FactProposal,
    GroundedEntity,
    GroundedFact,
    Said,
)
from services.writer.extraction.store import StoredSource
from shared.errors import PalimpsestError, invalid
from shared.interceptors.status import to_item_error
from shared.timestamps import from_datetime, to_datetime
from shared.validation import violations

_KIND = "extraction"
_MENTIONS = "MENTIONS"


def to_said(stored: StoredSource) -> Said:
    """Who said a stored message, and when."""
    observation = Observation.FromString(stored.message)
    author = ids.typed_key(observation.actor) if observation.HasField("actor") else ""
    return Said(author, to_datetime(observation.occurred_at).astimezone(UTC).isoformat())


def derived_observation(source: Observation, source_id: str, scopes: Sequence[str], derived: Derived) -> Observation:
    """What was made of an observation, as an observation of the same source: whatever is done to the source's items is
    done to these. `data` says where in the text each assertion is quoted."""
    assertions = [_mention(source_id, each) for each in derived.entities]
    assertions += [_said(each, derived.evidence) for each in derived.facts]
    spans = [each.span for each in derived.entities] + [each.span for each in derived.facts]
    quotes = [{"assertion": place, "start": span[0], "end": span[1]} for place, span in enumerate(spans)]
    return Observation(
        source=SourceIdentity(
            system=source.source.system, stream=source.source.stream, external_id=derived.external_id
        ),
        kind=_KIND,
        occurred_at=source.occurred_at,
        actor=source.actor if source.HasField("actor") else None,
        scopes=scopes,
        data=json.dumps({"source_observation_id": source_id, "quotes": quotes}),
        assertions=assertions,
        provenance=Provenance(uri=source.provenance.uri, extracted_by=derived.extracted_by, derived_from=[source_id]),
    )


def derived_from_stored(stored: StoredSource, derived: Derived) -> Observation:
    """The same for a source that is stored."""
    return derived_observation(Observation.FromString(stored.message), stored.observation_id, stored.scopes, derived)


def _mention(source_id: str, entity: GroundedEntity) -> Assertion:
    link = LinkAssertion(source=EntityRef(key=source_id), relation=_MENTIONS, entity=EntityRef(key=entity.key))
    return Assertion(link=link)


def _said(fact: GroundedFact, evidence: str) -> Assertion:
    said = fact.proposal
    entity = EntityRef(key=fact.object_key) if fact.object_key else None
    return Assertion(
        fact=FactAssertion(
            subject=EntityRef(key=fact.subject_key),
            predicate=said.predicate,
            object=FactObject(entity=entity) if entity else FactObject(literal=Literal(text=said.object)),
            valid_from=from_datetime(said.valid_from) if said.valid_from else None,
            valid_to=from_datetime(said.valid_to) if said.valid_to else None,
            evidence=f"EVIDENCE_CLASS_{evidence}",
            confidence=CONFIDENCE if said.confidence is None else said.confidence,
        )
    )


def to_proposals(facts: Sequence[ProposedFact]) -> list[FactProposal | PalimpsestError]:
    """What a client proposes, or what is wrong with an item."""
    return [_proposal(each, f"facts[{place}]") for place, each in enumerate(facts)]


def _proposal(fact: ProposedFact, path: str) -> FactProposal | PalimpsestError:
    if found := violations(fact, path):
        return invalid(found)
    return FactProposal(
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        object_is_entity=fact.object_is_entity,
        quote=fact.quote,
        confidence=fact.confidence if fact.HasField("confidence") else None,
        valid_from=to_datetime(fact.valid_from) if fact.HasField("valid_from") else None,
        valid_to=to_datetime(fact.valid_to) if fact.HasField("valid_to") else None,
    )


def to_results(proposed: Iterable[Accepted | PalimpsestError]) -> list[ProposalResult]:
    """What became of each proposal: an error, or a fact's id with the span of its quote."""
    return [_result(each) for each in proposed]


def _result(proposed: Accepted | PalimpsestError) -> ProposalResult:
    if isinstance(proposed, PalimpsestError):
        return ProposalResult(error=to_item_error(proposed))
    fact_id, (start, end) = proposed
    return ProposalResult(fact_id=fact_id, quote_start=start, quote_end=end)
