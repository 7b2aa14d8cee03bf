"""Rows that touch nothing stored, all in one statement; the conventions are those of `store.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from services.writer.columns import array_literal
from services.writer.passage_store import MOST_FRESH
from services.writer.passage_store import statements as passage_statements
from services.writer.store import statements as row_statements
from shared.database import Connection
from shared.statements import load_statements

_statements = load_statements(Path(__file__).with_name("at_once_store.sql"), row_statements, passage_statements)

# What is found before anything is written.
NEW, MARKED = "new", "marked"


@dataclass(frozen=True, slots=True)
class NewRows:
    """What observations of one namespace write. Rows are sets in JSON, sorted by key; empty: none."""

    observation_ids: Sequence[str]
    described: Sequence[str]
    """Entities of which something is said, beyond that they are there."""
    names_others: bool
    """Whether any other entity is named."""
    fact_ids: Sequence[str]
    hides_facts: bool
    """Whether an end or an observation hides a fact from who may see the fact itself: that is not written here."""
    ends: Sequence[str]
    """Entities that facts are about, or lead to."""
    source_kinds: Sequence[str]
    """Kinds and ids by which links may wait for described entities."""
    source_ids: Sequence[str]
    observations: str
    entity_evidence: str
    entities: str
    facts: str
    fact_evidence: str
    documents: str
    passages: str
    link_evidence: str
    links: str
    origins: str
    """The calls that wrote them; see `embedding.origins`."""

    @property
    def sets(self) -> list[str]:
        """The sets of rows, in the order of the statement's parts."""
        facts, links = [self.facts, self.fact_evidence], [self.link_evidence, self.links]
        sets = [self.observations, self.entity_evidence, self.entities, *facts, self.documents, self.passages, *links]
        return [*(each or "[]" for each in sets), self.origins, array_literal(self.ends)]

    @property
    def parts(self) -> dict[str, str]:
        """The fragments of the statement that have rows."""
        return {
            "named": "named_entities" if self.names_others else "no_named_entities",
            "facts": "new_facts" if self.facts else "no_facts",
            "documents": "new_documents" if self.documents else "no_documents",
            "links": "given_links" if self.links else "no_links",
            "origins": "origins_among_rows",
        }


async def write_at_once(
    connection: Connection, namespace: str, lock_key: int, version: int, rows: NewRows, *, in_bulk: bool
) -> tuple[str, Mapping[str, datetime]]:
    """Locks the namespace, shared, and writes the rows where none of them is stored, nothing stored speaks of them, and
    the settings are of this version.

    Answers NEW and when each observation was recorded; MARKED, where something acts on all that is written there, or
    another word, where a row is stored: then nothing was written. Entities that are only named may be there: the later
    moment when they were seen stays. Needs no transaction around it. Ends as a conflict does where another has written
    one of the rows meanwhile.
    """
    found = await connection.fetch(
        _statements.with_table("write_at_once", **rows.parts),
        namespace,
        in_bulk,
        MOST_FRESH,
        lock_key,
        version,
        rows.observation_ids,
        rows.described,
        rows.fact_ids,
        rows.source_kinds,
        rows.source_ids,
        rows.sets,
    )
    return found[0][0], {observation_id: moment for _, observation_id, moment in found if observation_id}
