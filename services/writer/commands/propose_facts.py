"""ProposeFacts: facts that a client extracted from a stored observation, verified by its text (CP-4)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from services.writer.applier import Applier
from services.writer.extraction.grounding import Ground, candidate_keys, verified
from services.writer.extraction.keeping import keep
from services.writer.extraction.proposals import Derived, FactProposal, GroundedFact, Said, Span, Verified
from services.writer.extraction.quotes import QuotedText
from services.writer.extraction.store import ExtractionStore, StoredSource
from services.writer.mark_store import Operator
from services.writer.projection.packs import Packs
from services.writer.recording import FailureEntry, PreparedObservation, Recorded
from shared.consistency_token import encode
from shared.database import Connection, Database
from shared.errors import InvalidField, InvalidState, NotFound, PalimpsestError, Violation

Accepted: TypeAlias = tuple[str, Span]
"""The id of a fact, and where it is quoted."""

Observe: TypeAlias = Callable[[StoredSource, Derived, Packs], PreparedObservation]
"""Makes the observation of what was derived."""


async def propose_facts(
    database: Database,
    applier: Applier,
    *,
    namespace: str,
    observation_id: str,
    facts: Sequence[FactProposal | PalimpsestError],
    extracted_by: str,
    caller: Operator,
    said: Callable[[StoredSource], Said],
    observe: Observe,
    timeout_s: float | None,
) -> tuple[list[Accepted | PalimpsestError], str]:
    """What became of each fact, in order, and a token by which reads see them.

    Raises NotFound; InvalidState for an observation without text; and what transactions raise: then none is stored.
    """
    good = [each for each in facts if isinstance(each, FactProposal)]

    async def read(connection: Connection) -> tuple[StoredSource, frozenset[str]]:
        store = ExtractionStore(connection)
        found = await store.source(namespace, observation_id, caller)
        if found is None:
            raise NotFound("observation")
        if found[1] or not found[0].content:
            raise InvalidState("REDACTED" if found[1] else "WITHOUT_TEXT")
        return found[0], await store.known_entities(namespace, candidate_keys(good), caller)

    source, stored = await database.transaction(read, timeout_s=timeout_s)
    author_key = said(source).author_key
    results = await asyncio.to_thread(lambda: _verified(facts, Ground(QuotedText(source.content), author_key, stored)))
    accepted = tuple(each for each in results if isinstance(each, GroundedFact))
    if not accepted:
        return [each for each in results if isinstance(each, PalimpsestError)], encode(await database.write_position())
    packs = (await applier.packs.acting_in([namespace], timeout_s=timeout_s))[namespace]
    item = observe(source, Derived(accepted, extracted_by), packs)
    [outcome], position = await keep(applier, observation_id, item, timeout_s=timeout_s)
    if isinstance(outcome, PalimpsestError):
        raise outcome
    return _told(results, item, outcome), encode(position)


def _verified(facts: Sequence[FactProposal | PalimpsestError], ground: Ground) -> list[Verified]:
    """Each fact by itself, so that its path is that of the request."""
    places = [place for place, each in enumerate(facts) if isinstance(each, FactProposal)]
    good = [each for each in facts if isinstance(each, FactProposal)]
    found = dict(zip(places, verified(good, ground, places=places), strict=True))
    return [found[place] if isinstance(each, FactProposal) else each for place, each in enumerate(facts)]


def _told(
    results: Sequence[Verified], item: PreparedObservation, recorded: Recorded
) -> list[Accepted | PalimpsestError]:
    """The facts that were stored, and those that packs refuse."""
    ids = {fact.stamp.assertion_index: fact.fact_id for fact in item.projection.facts}
    failures = {failure["index"]: failure for failure in reversed(recorded.failures)}
    told: list[Accepted | PalimpsestError] = []
    index = 0
    for place, each in enumerate(results):
        if isinstance(each, PalimpsestError):
            told.append(each)
            continue
        told.append(_refusal(failures[index], place) if index in failures else (ids[index], each.span))
        index += 1
    return told


def _refusal(failure: FailureEntry, place: int) -> PalimpsestError:
    field = str(failure["field"]).split(".fact.", 1)[-1]
    return InvalidField([Violation(f"facts[{place}].{field}", failure["message"])])
