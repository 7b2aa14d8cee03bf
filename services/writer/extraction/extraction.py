"""Extracts from one message: asks, verifies, and says what is to be kept (CP-4)."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from services.writer.extraction.answers import Answer, InvalidAnswerError, read_answer
from services.writer.extraction.endpoint import ExtractionFailedError, Extractor
from services.writer.extraction.grounding import Ground, candidate_keys, grounded_entities, verified
from services.writer.extraction.proposals import Derived, GroundedFact, Said
from services.writer.extraction.quotes import QuotedText
from services.writer.extraction.store import Claim, ExtractionStore, StoredSource
from services.writer.mark_store import Operator
from shared.database import Database
from shared.errors import PalimpsestError

MALFORMED, INVALID_JSON, UNGROUNDED = "INVALID_FIELD", "INVALID_JSON", "UNGROUNDED_QUOTE"
# What ends may be known by is what everybody may see: whose labels would decide is not known here.
_EVERYBODY = Operator("palimpsest", (), False)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What came of a message; `derived` is None where nothing was accepted. `refused`: proposals by reason."""

    derived: Derived | None
    refused: Counter[str]


class InvalidJsonError(ExtractionFailedError):
    """The extractor's answer is not of the form that was asked for."""


async def extract(
    database: Database,
    extractor: Extractor,
    said: Callable[[StoredSource], Said],
    claim: Claim,
    source: StoredSource,
    *,
    timeout_s: float,
) -> Extraction:
    """What the extractor proposes, less what the text does not bear out.

    Raises ExtractorUnavailableError and ExtractionFailedError, and what transactions raise.
    """
    words = said(source)
    body = await extractor.answer(source.content, words.author_key.partition(":")[2], words.said_at)
    try:
        answer = await asyncio.to_thread(read_answer, body)
    except InvalidAnswerError:
        raise InvalidJsonError("the answer is no JSON of the form that was asked for") from None
    stored = await database.transaction(
        lambda connection: ExtractionStore(connection).known_entities(
            claim.namespace, candidate_keys(answer.facts), _EVERYBODY
        ),
        timeout_s=timeout_s,
    )
    return await asyncio.to_thread(_verified, answer, source, words.author_key, stored, extractor.name)


def result_id(observation_id: str, extracted_by: str) -> str:
    """What the result of an extraction is known again by: one a message and extractor, whoever makes it."""
    return f"extraction:{observation_id}:{extracted_by}"


def _verified(
    answer: Answer, source: StoredSource, author_key: str, stored: frozenset[str], extracted_by: str
) -> Extraction:
    ground = Ground(QuotedText(source.content), author_key, stored)
    entities = grounded_entities(answer.entities, ground)
    results = verified(answer.facts, ground, entities)
    facts = tuple(each for each in results if isinstance(each, GroundedFact))
    refused = Counter(each.reason for each in results if isinstance(each, PalimpsestError))
    refused += Counter({MALFORMED: answer.malformed, UNGROUNDED: len(answer.entities) - len(entities)})
    if not facts and not entities:
        return Extraction(None, refused)
    external_id = result_id(source.observation_id, extracted_by)
    return Extraction(Derived(facts, extracted_by, tuple(entities), external_id), refused)
