"""One retrieval: the query's vector, one snapshot for all signals, fusion, the judgement, and what hits stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from services.reader.embedder_client import EmbedderClient, QueryVector
from services.reader.merges import keys_of
from services.reader.namespaces import Acting, acting, rivals
from services.reader.provenance import origins
from services.reader.retrieval import tuning
from services.reader.retrieval.abstention import Abstention, Relevance, judge
from services.reader.retrieval.fusion import Fused, fuse
from services.reader.retrieval.lexical import by_words
from services.reader.retrieval.script import is_latin
from services.reader.retrieval.signals import SIGNALS, Cause, Mode, Signal, SignalMissing
from services.reader.retrieval.vector import by_meaning
from services.reader.rows import Candidate, Filter, ItemKind, Origin, Row
from services.reader.store import SearchSpace, Snapshot, Store
from services.reader.view import View
from shared.errors import NotImplementedYet


class Conflicts(Enum):
    """Of which facts the rivals are sought."""

    NONE = "none"
    SINGLE_VALUED = "single-valued"
    EVERY = "every"


@dataclass(frozen=True, slots=True)
class Query:
    """What is sought, and how."""

    text: str
    mode: Mode = Mode.FULL
    wanted: Filter = field(default_factory=Filter)
    limit: int = 10
    keep_irrelevant: bool = False
    conflicts: Conflicts = Conflicts.NONE
    """With any of them, the answer tells how the namespace behaves too."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found item with what it stands for."""

    fused: Fused
    passage: Row
    fact: Row | None
    entity: Row | None
    embedded: bool
    provenance: tuple[Origin, ...]
    rivals: tuple[str, ...] = ()
    """Facts that contradict it, where they were sought."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a retrieval found, or why nothing."""

    hits: tuple[Hit, ...]
    candidates: tuple[Fused, ...]
    """All that any signal found, best first, whether kept or not."""
    abstention: Abstention
    relevance: Relevance
    missing: tuple[tuple[Signal, Cause], ...] = ()
    query_truncated: bool = False
    fingerprint: str = ""
    namespace: Acting = field(default_factory=Acting)


@dataclass(frozen=True, slots=True)
class Retriever:
    """Retrieval over a store, with vectors of an embedder."""

    store: Store
    embedder: EmbedderClient
    exact_scan_rows: int

    async def retrieve(self, view: View, query: Query, *, timeout_s: float) -> Retrieved:
        """Finds what the query asks for. A missing vector degrades the answer; a failing database fails it.

        Raises NotImplementedYet for a mode that this version does not have.
        """
        if query.mode not in SIGNALS:
            raise NotImplementedYet("/palimpsest.v1.ReaderService/Search")
        vector = await self._vector(query)

        async def work(snapshot: Snapshot) -> Retrieved:
            return await self._found(snapshot, query, vector)

        return await self.store.snapshot(view, work, timeout_s=timeout_s)

    async def _vector(self, query: Query) -> QueryVector | Cause | None:
        """The query's vector, or why it is missing. Asked for before a connection is held. None: not wanted."""
        if Signal.VECTOR not in SIGNALS[query.mode]:
            return None
        try:
            return await self.embedder.embed_query(query.text[: tuning.QUERY_CHARS])
        except SignalMissing as missing:
            return missing.cause

    async def _found(self, snapshot: Snapshot, query: Query, vector: QueryVector | Cause | None) -> Retrieved:
        space = await snapshot.prepare_search(self.exact_scan_rows)
        vector = self._comparable(vector, space)
        words = query.text if Signal.LEXICAL in SIGNALS[query.mode] else ""
        candidates = await snapshot.search(
            space,
            words=words,
            vector=vector.halfvec if isinstance(vector, QueryVector) else None,
            approximate=space.passages > self.exact_scan_rows,
            wanted=await _with_merged(snapshot, query.wanted),
            limit=max(tuning.SIGNAL_CANDIDATES, query.limit),
        )
        if isinstance(vector, QueryVector) and await _has_no_vectors(snapshot, space, candidates):
            vector = Cause.NO_VECTORS
        by_word, nearest = by_words(candidates), by_meaning(candidates)
        fused = fuse(by_word, nearest)
        fingerprint = vector.fingerprint if isinstance(vector, QueryVector) else ""
        judgement = judge(
            by_word if words else None,
            nearest if fingerprint else None,
            fingerprint,
            asked_in_latin=is_latin(query.text),
        )
        kept = fused[: query.limit] if query.keep_irrelevant or judgement.abstention is Abstention.NONE else []
        hits = await read_hits(snapshot, kept)
        namespace = await acting(snapshot) if query.conflicts is not Conflicts.NONE else Acting()
        return Retrieved(
            hits=await _with_rivals(snapshot, namespace, query, hits),
            candidates=tuple(fused),
            abstention=judgement.abstention,
            relevance=judgement.relevance,
            missing=((Signal.VECTOR, vector),) if isinstance(vector, Cause) else (),
            query_truncated=await _is_truncated(snapshot, query, words),
            fingerprint=fingerprint,
            namespace=namespace,
        )

    def _comparable(self, vector: QueryVector | Cause | None, space: SearchSpace) -> QueryVector | Cause | None:
        """The vector, if it is of the space that is searched: vectors of two models are never compared."""
        if not isinstance(vector, QueryVector) or vector.fingerprint == space.fingerprint:
            return vector
        if not space.fingerprint:
            return Cause.NO_VECTORS if space.passages else None
        self.embedder.forget()
        return Cause.MODEL_MISMATCH


async def _with_merged(snapshot: Snapshot, wanted: Filter) -> Filter:
    """The filter with all keys of the entities that it names."""
    if not wanted.entity_keys:
        return wanted
    return replace(wanted, entity_keys=tuple(await keys_of(snapshot, *wanted.entity_keys)))


async def _with_rivals(snapshot: Snapshot, namespace: Acting, query: Query, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    if query.conflicts is Conflicts.NONE:
        return hits
    found = await rivals(
        snapshot,
        namespace,
        [hit.fact["fact_id"] for hit in hits if hit.fact],
        as_of=query.wanted.as_of,
        every=query.conflicts is Conflicts.EVERY,
    )
    return tuple(replace(hit, rivals=found.get(hit.fused.candidate.owner_key, ())) if hit.fact else hit for hit in hits)


async def _has_no_vectors(snapshot: Snapshot, space: SearchSpace, candidates: Sequence[Candidate]) -> bool:
    """Whether the vectors are missing, and not only what they should have found."""
    if not space.passages or any(candidate.distance is not None for candidate in candidates):
        return False
    return not await snapshot.has_vectors(space)


async def _is_truncated(snapshot: Snapshot, query: Query, words: str) -> bool:
    if Signal.VECTOR in SIGNALS[query.mode] and len(query.text) > tuning.QUERY_CHARS:
        return True
    # A lexeme is at least a character and what parts it from the next, and a hyphenated word gives at most four.
    return len(words) > tuning.QUERY_LEXEMES // 2 and await snapshot.has_lexemes_left_out(words)


async def read_hits(snapshot: Snapshot, fused: Sequence[Fused]) -> tuple[Hit, ...]:
    """The hits with their passages, facts, entities and provenance, from the snapshot that found them."""
    passages = await snapshot.passages_by_id([each.candidate.passage_id for each in fused])
    facts = await snapshot.get_facts(_keys(fused, {ItemKind.FACT}))
    entities = await snapshot.get_entities(_keys(fused, {ItemKind.ENTITY, ItemKind.RECORD}))
    chunks = [each.candidate.passage_id for each in fused if each.candidate.kind == ItemKind.CHUNK]
    embedded = await snapshot.embedded_passages(chunks)
    items = [
        (each.candidate.kind, each.candidate.owner_key, passages[each.candidate.passage_id]["observation_id"])
        for each in fused
    ]
    chains = await snapshot.provenance(items, limit=tuning.PROVENANCE_LINKS)
    return tuple(
        Hit(
            fused=each,
            passage=passages[each.candidate.passage_id],
            fact=facts.get(each.candidate.owner_key),
            entity=entities.get(each.candidate.owner_key),
            embedded=each.candidate.passage_id in embedded,
            provenance=origins(chain),
        )
        for each, chain in zip(fused, chains, strict=True)
    )


def _keys(fused: Sequence[Fused], kinds: set[ItemKind]) -> list[str]:
    return [each.candidate.owner_key for each in fused if each.candidate.kind in kinds]
