"""One retrieval: the query's vector, one snapshot for all signals, fusion, the judgement, and what hits stand for."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import TypeVar

from services.reader.candidates import Candidates
from services.reader.embedder_client import EmbedderClient, QueryVector
from services.reader.names import by_all_names
from services.reader.provenance import origins
from services.reader.retrieval import tuning
from services.reader.retrieval.abstention import Abstention, Evidence, Relevance, gathered, judge
from services.reader.retrieval.asked_about import Said, about_asked
from services.reader.retrieval.blend import Blend
from services.reader.retrieval.fusion import Fused, fuse
from services.reader.retrieval.graph import GraphSearch
from services.reader.retrieval.lists import found_by_each
from services.reader.retrieval.ranking import Ranking
from services.reader.retrieval.rerank import HeadReranker
from services.reader.retrieval.script import is_latin
from services.reader.retrieval.signals import SIGNALS, Cause, Mode, Signal, SignalMissing, looked_up
from services.reader.retrieval.time_expressions import time_window
from services.reader.retrieval.trigram import recovered
from services.reader.rows import Filter, ItemKind, Origin, Row
from services.reader.store import SearchSpace, Snapshot, SpaceChanged, Store
from services.reader.view import View

T = TypeVar("T")

# A model is changed a few times a year; a search that meets it more often goes by words.
_MOST_SWITCHES = 2

_WORD = re.compile(r"\w+")
_ENTITIES = frozenset({ItemKind.ENTITY, ItemKind.RECORD})


class SpaceSwitched(Exception):
    """Vectors of another model are searched than the query was embedded by."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is sought, and how."""

    text: str
    mode: Mode = Mode.FULL
    wanted: Filter = field(default_factory=Filter)
    limit: int = 10
    keep_irrelevant: bool = False
    clock: datetime | None = None
    """The caller's, with its zone, by which words of time are read. None: now, UTC."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found item with what it stands for."""

    fused: Fused
    passage: Row
    fact: Row | None
    entity: Row | None
    embedded: bool
    provenance: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a retrieval found, or why nothing."""

    candidates: Sequence[Fused]
    """All that any signal found, best first, whether kept or not."""
    kept: Sequence[Fused]
    """Those that the answer is made of: as many as were asked for, none with an abstention."""
    abstention: Abstention
    relevance: Relevance
    missing: tuple[tuple[Signal, Cause], ...] = ()
    query_truncated: bool = False
    fingerprint: str = ""
    hits: tuple[Hit, ...] = ()
    """What is kept, read."""
    tuning: Mapping[str, float] = field(default_factory=dict)
    """The constants that the namespace sets for itself, by name."""
    evidence: Evidence = field(default_factory=Evidence)
    """What abstention judged by."""
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Milliseconds by stage: `embed`, `retrieve`, `fuse`, and `rerank` where a cross-encoder was asked."""


@dataclass(frozen=True, slots=True)
class Retriever:
    """Retrieval over a store, with vectors of an embedder."""

    store: Store
    embedder: EmbedderClient
    exact_scan_rows: int
    reranker: HeadReranker | None = None
    """None: there is no cross-encoder."""

    async def retrieve(self, view: View, query: Query, *, timeout_s: float) -> Retrieved:
        """Finds what the query asks for, and reads what is kept of it. Raises as `find` does."""

        async def read(snapshot: Snapshot, found: Retrieved) -> Retrieved:
            return replace(found, hits=await read_hits(snapshot, found.kept))

        return await self.find(view, query, read, timeout_s=timeout_s)

    async def find(
        self, view: View, query: Query, work: Callable[[Snapshot, Retrieved], Awaitable[T]], *, timeout_s: float
    ) -> T:
        """Finds what the query asks for, and runs `work` on it within the same snapshot; hits are not read yet.

        A missing vector degrades the answer; a failing database fails it.
        """
        begun = perf_counter()
        for _ in range(_MOST_SWITCHES):
            try:
                return await self._find(view, query, work, begun, timeout_s=timeout_s, follows=True)
            except SpaceSwitched:
                # Before anything was compared, and before `work` was run.
                continue
        return await self._find(view, query, work, begun, timeout_s=timeout_s, follows=False)

    async def _find(
        self,
        view: View,
        query: Query,
        work: Callable[[Snapshot, Retrieved], Awaitable[T]],
        begun: float,
        *,
        timeout_s: float,
        follows: bool,
    ) -> T:
        """One try; `follows`: raises SpaceSwitched where other vectors are searched than the query was embedded for."""
        expected = self.embedder.searched
        vector = await self._vector(query, expected)
        embedded_ms = (perf_counter() - begun) * 1000

        async def both(snapshot: Snapshot) -> T:
            found = await self._found(snapshot, query, vector, expected if follows else None)
            found = await self._reranked(snapshot, query, found)
            return await work(snapshot, replace(found, timings_ms={"embed": embedded_ms, **found.timings_ms}))

        return await self.store.snapshot(view, both, timeout_s=timeout_s, searches=True)

    async def _vector(self, query: Query, fingerprint: str) -> QueryVector | Cause | None:
        """The query's vector, or why it is missing. Asked for before a connection is held. None: not wanted."""
        if Signal.VECTOR not in looked_up(query.mode):
            return None
        try:
            return await self.embedder.embed_query(query.text[: tuning.QUERY_CHARS], fingerprint)
        except SignalMissing as missing:
            return missing.cause

    async def _found(
        self, snapshot: Snapshot, query: Query, vector: QueryVector | Cause | None, expected: str | None
    ) -> Retrieved:
        begun = perf_counter()
        space, vector, wanted, candidates = await self._sought(snapshot, query, vector, expected)
        halfvec = vector.halfvec if isinstance(vector, QueryVector) else None
        words, limit = _words(query), _limit(query)
        if isinstance(vector, QueryVector) and await _has_no_vectors(snapshot, space, candidates):
            vector = Cause.NO_VECTORS
        searched = perf_counter()
        in_latin, blend = is_latin(query.text), Blend.of(space.tuning)
        lists = found_by_each(query.mode, candidates, blend, asked_in_latin=in_latin)
        by_word, nearest = lists[Signal.LEXICAL], lists[Signal.VECTOR]
        if Signal.GRAPH in SIGNALS[query.mode]:
            walk = GraphSearch(space, query.text, halfvec, wanted, limit, is_alone=query.mode is Mode.GRAPH)
            lists = await walk.with_graph(snapshot, candidates, lists, blend, asked_in_latin=in_latin)
        fused = fuse(lists, blend, asked_in_latin=in_latin)
        fingerprint = vector.fingerprint if isinstance(vector, QueryVector) else ""
        evidence = gathered(
            by_word if words else None,
            nearest if fingerprint else None,
            fingerprint=fingerprint,
            length=vector.length if isinstance(vector, QueryVector) else 1.0,
            asked_in_latin=in_latin,
            about_asked=_about_asked(by_word, nearest, asked_in_latin=in_latin),
            recovered=recovered(lists.get(Signal.TRIGRAM) or ()),
        )
        judgement = judge(evidence, space.tuning)
        # A walk may come to nothing, though there is something relevant to begin from.
        abstention = judgement.abstention if fused else Abstention.NO_CANDIDATES
        kept = fused[: query.limit if query.keep_irrelevant or abstention is Abstention.NONE else 0]
        fused_at = perf_counter()
        return Retrieved(
            candidates=fused,
            kept=kept,
            abstention=abstention,
            relevance=judgement.relevance,
            evidence=evidence,
            missing=((Signal.VECTOR, vector),) if isinstance(vector, Cause) else (),
            query_truncated=await _is_truncated(snapshot, query, words),
            fingerprint=fingerprint,
            tuning=space.tuning,
            timings_ms={"retrieve": (searched - begun) * 1000, "fuse": (fused_at - searched) * 1000},
        )

    async def _sought(
        self, snapshot: Snapshot, query: Query, vector: QueryVector | Cause | None, expected: str | None
    ) -> tuple[SearchSpace, QueryVector | Cause | None, Filter, Candidates]:
        """What the search meets, the vector if it is comparable there, the filter by all names, and what was found."""
        remembered = snapshot.remembered_space(query.wanted)
        if remembered is not None:
            with suppress(SpaceChanged):
                return await self._sought_in(remembered, snapshot, query, vector, expected)
        return await self._sought_in(await snapshot.prepare_search(query.wanted), snapshot, query, vector, expected)

    async def _sought_in(
        self,
        space: SearchSpace,
        snapshot: Snapshot,
        query: Query,
        vector: QueryVector | Cause | None,
        expected: str | None,
    ) -> tuple[SearchSpace, QueryVector | Cause | None, Filter, Candidates]:
        vector = self._comparable(vector, space, expected)
        halfvec = vector.halfvec if isinstance(vector, QueryVector) else None
        wanted = await by_all_names(snapshot, query.wanted)
        rows, labels = self.exact_scan_rows, wanted.labels
        candidates = await snapshot.search(
            space,
            words=_words(query),
            vector=halfvec,
            approximate=halfvec is not None and await snapshot.walks_index(space, exact_scan_rows=rows, labels=labels),
            wanted=wanted,
            limit=_limit(query),
            window=time_window(query.text, query.clock or datetime.now(UTC)) if query.mode is Mode.FULL else None,
        )
        return replace(space, passages=snapshot.visible_passages), vector, wanted, candidates

    async def _reranked(self, snapshot: Snapshot, query: Query, found: Retrieved) -> Retrieved:
        """What was found, its head reranked. Where nothing is relevant there is nothing to put in order."""
        if self.reranker is None or not found.kept:
            return found
        blend = Blend.of(found.tuning)
        made = await self.reranker.reranked(snapshot, query.text, query.mode, found.candidates, blend)
        return replace(
            found,
            candidates=made.fused,
            kept=made.fused[: query.limit],
            missing=(*found.missing, *made.missing),
            timings_ms={**found.timings_ms, **made.timings_ms},
        )

    def _comparable(
        self, vector: QueryVector | Cause | None, space: SearchSpace, expected: str | None
    ) -> QueryVector | Cause | None:
        """The vector, if it is of the space that is searched: vectors of two models are never compared.

        Raises SpaceSwitched, where that space is another than was `expected`: its model may be served too.
        """
        self.embedder.searched = space.fingerprint
        if vector is None or (isinstance(vector, QueryVector) and vector.fingerprint == space.fingerprint):
            return vector
        if not space.fingerprint:
            return vector if isinstance(vector, Cause) else Cause.NO_VECTORS if space.passages else None
        if expected is not None and expected != space.fingerprint:
            raise SpaceSwitched
        return vector if isinstance(vector, Cause) else Cause.MODEL_MISMATCH


def _words(query: Query) -> str:
    """The words that are looked up; none where the mode asks for none."""
    return query.text if Signal.LEXICAL in looked_up(query.mode) else ""


def _limit(query: Query) -> int:
    """The most candidates of a signal."""
    return max(tuning.SIGNAL_CANDIDATES, query.limit)


def _about_asked(words: Ranking, nearest: Ranking, *, asked_in_latin: bool) -> float | None:
    """Share of the best that is about the people whom the query names, by words and vectors alone: what lifts their own
    words would prove itself.
    """
    if not any(found.candidates.are_by_named[found.order].any() for found in (words, nearest)):
        return None
    lists = {Signal.LEXICAL: words, Signal.VECTOR: nearest}
    best = fuse(lists, asked_in_latin=asked_in_latin, limit=tuning.PERSON_FIELD)
    told = best.columns("author_key", "is_by_named", "said")
    return about_asked([Said(score, author_key, is_named, text or "") for score, author_key, is_named, text in told])


async def _has_no_vectors(snapshot: Snapshot, space: SearchSpace, candidates: Candidates) -> bool:
    """Whether the vectors are missing, and not only what they should have found."""
    if not space.passages or any(distance is not None for distance in candidates.column("distance")):
        return False
    return not await snapshot.has_vectors(space)


async def _is_truncated(snapshot: Snapshot, query: Query, words: str) -> bool:
    if Signal.VECTOR in looked_up(query.mode) and len(query.text) > tuning.QUERY_CHARS:
        return True
    # A word gives its stem and its form, and with its neighbours in a compound those of the whole.
    can_be_too_many = 4 * len(_WORD.findall(words)) > tuning.QUERY_LEXEMES
    return can_be_too_many and await snapshot.has_lexemes_left_out(words)


async def read_hits(snapshot: Snapshot, fused: Sequence[Fused]) -> tuple[Hit, ...]:
    """The hits with their passages, facts, entities and provenance, from the snapshot that found them."""
    fused = list(fused)  # each is made where it is asked for
    passages = await snapshot.passages_by_id([each.candidate.passage_id for each in fused])
    facts = await snapshot.get_facts(_keys(fused, frozenset({ItemKind.FACT})))
    entities = await snapshot.get_entities(_keys(fused, _ENTITIES))
    items = [
        (each.candidate.kind, each.candidate.owner_key, passages[each.candidate.passage_id]["observation_id"])
        for each in fused
    ]
    chains = await snapshot.provenance(items, limit=tuning.PROVENANCE_LINKS)
    return tuple(
        Hit(
            fused=each,
            passage=passages[each.candidate.passage_id],
            fact=facts.get(each.candidate.owner_key) if each.candidate.kind == ItemKind.FACT else None,
            # The chunks of an entity that is a hit itself stand for themselves.
            entity=entities.get(each.candidate.owner_key) if each.candidate.kind in _ENTITIES else None,
            embedded=passages[each.candidate.passage_id]["embedded"],
            provenance=origins(chain),
        )
        for each, chain in zip(fused, chains, strict=True)
    )


def _keys(fused: Sequence[Fused], kinds: frozenset[ItemKind]) -> list[str]:
    return [each.candidate.owner_key for each in fused if each.candidate.kind in kinds]
