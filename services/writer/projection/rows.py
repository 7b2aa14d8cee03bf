"""The values that projection produces and the applier writes: intended rows, free of any order of arrival."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple


class Stamp(NamedTuple):
    """Decides between two values of a field: the greater one wins, whatever came first (EN-1)."""

    occurred_us: int
    observation_id: str
    assertion_index: int


@dataclass(frozen=True, slots=True)
class EntityWrite:
    """What one assertion says of an entity. No fields: it only names it, as a placeholder.

    `fields` holds columns of `entities` that were asserted (kind, title, aliases, source_path, source_id, url, author,
    source_created_at, source_updated_at, confidence, importance, status, expires_at, scopes, provenance,
    pii_categories), and `attributes.<key>` for each key of the attributes, as JSON text (`null` removes it). `named`
    among them is no column: its stamp alone is kept, and says that an entity assertion gave a title or aliases.
    """

    key: str
    stamp: Stamp
    default_kind: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    # Whether it says that the entity exists; without it, and without anybody else's, the entity is a placeholder.
    described: bool = False
    # The restricting labels under which it is named; none: openly; None: nobody named it. They hide an entity that was
    # given no labels itself, so that a name that only hidden observations use is hidden too.
    inherited: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class FactWrite:
    """What one assertion says of a fact.

    `fields` holds asserted_valid_to, importance, source_path, expires_at, scopes, and `attributes.<key>`, as in
    `EntityWrite`.
    """

    fact_id: str
    subject_key: str
    predicate: str
    object_type: str
    object_text: str
    object_key: str | None
    object: bytes
    valid_from: datetime | None
    sentence: str
    evidence: int
    confidence: float
    stamp: Stamp
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Supersession:
    """A statement that one fact takes the place of another, or corrects it."""

    old_fact_id: str
    new_fact_id: str
    stamp: Stamp
    correction: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retraction:
    """A statement that a fact ended."""

    fact_id: str
    valid_to: datetime
    stamp: Stamp
    reason: str = ""
    # Number of FactClosure: 3 RETRACTED, or 6 SNAPSHOT where a complete state of its source no longer has it.
    closure: int = 3


@dataclass(frozen=True, slots=True)
class LinkWrite:
    """A typed edge between two keys."""

    source_key: str
    relation: str
    target_key: str
    weight: float
    observation_id: str


@dataclass(frozen=True, slots=True)
class ClaimWrite:
    """A typed edge whose target is named in its source's terms."""

    source_key: str
    relation: str
    target_kind: str
    target_ref: str
    source_hint: str
    weight: float
    observation_id: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One searchable unit of an owner: text and what is mirrored for filtering. Keyed by kind, owner and ordinal.

    `embedding_hash` is empty where there is nothing to embed: the text has no character that can be seen.
    """

    kind: int
    owner_key: str
    ordinal: int
    owner_kind: str
    title: str
    heading: str
    text: str
    source_path: str
    token_count: int
    meta: str
    embedding_hash: str
    observation_id: str | None
    source_system: str
    source_stream: str
    occurred_at: datetime
    author_key: str
    scopes: tuple[str, ...]
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    importance: int = 0
    status: int = 1
    # Where it stands among what its stream said at one moment; compares byte by byte.
    place_in_stream: str = ""


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """The whole text of an entity, with its pieces. `body` is None where the text came in chunks."""

    entity_key: str
    body: str | None
    media_type: str
    meta: str
    content_hash: str
    stamp: Stamp
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An assertion that cannot be applied: a number of google.rpc.Code, an ErrorReason's name, the field's path below
    the observation, and words."""

    index: int
    code: int
    reason: str
    field: str
    message: str
    # What the reason's metadata is to be.
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GuardWrite:
    """Which roles may change an item from now on (AC-5): a fact by its id (kind 2), or an entity or record (3)."""

    kind: int
    item_key: str
    stamp: Stamp
    write_roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """The intended rows of one observation."""

    namespace: str
    observation_id: str
    occurred_at: datetime
    scopes: tuple[str, ...]
    entities: tuple[EntityWrite, ...] = ()
    facts: tuple[FactWrite, ...] = ()
    supersessions: tuple[Supersession, ...] = ()
    retractions: tuple[Retraction, ...] = ()
    links: tuple[LinkWrite, ...] = ()
    claims: tuple[ClaimWrite, ...] = ()
    documents: tuple[DocumentWrite, ...] = ()
    guards: tuple[GuardWrite, ...] = ()
    # Passages of facts, entities and records; those of documents are inside them.
    passages: tuple[Passage, ...] = ()
    failures: tuple[Failure, ...] = ()
    # Categories of personal data by entity; looked for only where they are protected.
    personal_data: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
