"""Searchable units: what is embedded of them, and how facts and entities become them."""

import hashlib
from typing import Any

import orjson

from services.writer.projection.context import Context
from services.writer.projection.merge import EntityState, FactState
from services.writer.projection.rows import Passage
from shared.normal_form import is_blank
from shared.token_count import token_count

# Numbers of ItemKind.
CHUNK = 1
FACT = 2
ENTITY = 3
RECORD = 4

OBSERVATION_KIND = "observation"

# The field whose stamp says that an entity assertion gave a title or aliases.
NAMED = "named"


def embedded_text(title: str, heading: str, text: str) -> str:
    """Returns what is embedded: `<title> — <heading>`, as far as there is one, and the text in the next line (DO-3)."""
    first_line = " — ".join(part for part in (title, heading) if part)
    return f"{first_line}\n{text}" if first_line else text


def embedding_hash(title: str, heading: str, text: str) -> str:
    """Returns the SHA-256, in hex, of what is embedded (DO-4); empty where the text has nothing that can be seen."""
    return "" if is_blank(text) else hashlib.sha256(embedded_text(title, heading, text).encode()).hexdigest()


def passage_of(context: Context, *, text: str, title: str = "", heading: str = "", **columns: Any) -> Passage:
    """Returns a passage of an observation. `columns` are those of `Passage` that the context and the text don't give;
    its labels are the observation's unless they are among them."""
    derived: dict[str, Any] = {
        "ordinal": 0,
        "source_path": "",
        "meta": "{}",
        "scopes": context.scopes,
        "token_count": token_count(text),
        "embedding_hash": embedding_hash(title, heading, text),
        "observation_id": context.observation_id,
        "source_system": context.source_system,
        "source_stream": context.source_stream,
        "occurred_at": context.occurred_at,
        "author_key": context.actor_key,
        "place_in_stream": context.place_in_stream,
    }
    return Passage(title=title, heading=heading, text=text, **{**derived, **columns})


def fact_passage(namespace: str, state: FactState) -> Passage:
    """Returns the passage of a fact: its sentence. `valid_to` is the asserted one; the resolved one takes its place."""
    return Passage(
        kind=FACT,
        owner_key=state.fact_id,
        owner_kind=state.predicate,
        text=state.sentence,
        valid_from=state.valid_from,
        valid_to=state.asserted_valid_to,
        occurred_at=state.observed_at,
        **_of_many_observations(state, state.sentence),
    )


def entity_passage(namespace: str, state: EntityState) -> Passage | None:
    """Returns the passage of an entity, its title and aliases, or None where nobody asserted any.

    Observations have none, nor have titles that only a document or a record gave: their own passages show them.
    """
    # Most entities are told by the first two, which cost nothing.
    if state.kind == OBSERVATION_KIND or NAMED not in state.stamps or NAMED not in orjson.loads(state.stamps):
        return None
    text = "\n".join(name for name in (state.title, *state.aliases) if name)
    if is_blank(text):
        return None
    return Passage(
        kind=ENTITY,
        owner_key=state.natural_key,
        owner_kind=state.kind,
        text=text,
        occurred_at=state.last_seen_at,
        status=state.status,
        **_of_many_observations(state, text),
    )


def _of_many_observations(state: EntityState | FactState, text: str) -> dict[str, Any]:
    """What passages of merged rows share: no observation, source or author is the one."""
    return {
        "ordinal": 0,
        "title": "",
        "heading": "",
        "source_path": state.source_path,
        "token_count": token_count(text),
        "meta": "{}",
        "embedding_hash": embedding_hash("", "", text),
        "observation_id": None,
        "source_system": "",
        "source_stream": "",
        "author_key": "",
        "scopes": state.scopes,
        "expires_at": state.expires_at,
        "importance": state.importance,
    }
