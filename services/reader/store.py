"""The reader's statements, run in read-only snapshots. Nothing here writes."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from services.reader import metrics
from services.reader.candidates import Candidates
from services.reader.retrieval import tuning
from services.reader.retrieval.time_expressions import Window
from services.reader.retrieval.trigram import with_names
from services.reader.rows import Filter, Row
from services.reader.search_statement import SETTINGS, VectorTable, names_statement, search_arguments, search_statement
from services.reader.search_statement import SQL as _SEARCH
from services.reader.selections import EdgeSelection, FactSelection
from services.reader.view import View, rule_holders
from services.reader.visibility import VISIBILITY
from shared.database import Connection, Database
from shared.namespace_defaults import TEXT_SEARCH_CONFIGURATIONS
from shared.statements import load_statements

T = TypeVar("T")

_DIGIT = re.compile(r"[0-9]")
_REMEMBERED_SPACES = 10_000

_SQL = load_statements(Path(__file__).with_name("store.sql"), VISIBILITY)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What a search meets: how much there is, and whose vectors are searched."""

    passages: int
    """Passages that the caller may see, counted up to `tuning.COUNTED_PASSAGES`."""
    fingerprint: str
    """Empty: no space is active."""
    table: str
    """Its table of vectors; empty as well."""
    label_sets: tuple[int, ...] | None
    """The sets of labels that are let through. None: all, or there are too many to tell."""
    tuning: Mapping[str, float] = field(default_factory=dict)
    """The constants that the namespace sets for itself, by name."""
    configurations: tuple[str, ...] = TEXT_SEARCH_CONFIGURATIONS
    """What the words of a query are looked up by."""
    has_edges: bool = False
    """Whether there is a graph."""
    is_few: bool = True
    """Whether the namespace is small, so that one plan fits all that is asked of it."""
    has_packs: bool = False
    """Whether packs tell ids in texts."""
    first_pass: str = "whole"
    """What the index of the vectors holds of them."""
    first_pass_dimension: int | None = None
    is_configured: bool = False
    """Whether the namespace has settings of its own."""
    is_remembered: bool = False
    """Whether it is what an earlier snapshot met, and this one may not."""

    @classmethod
    def of(cls, row: Row) -> SearchSpace:
        """What a row of `prepare_search` tells."""
        sets, settings = row["label_sets"], json.loads(row["settings"] or "{}")
        return cls(
            int(row["passages"]),
            row["fingerprint"] or "",
            row["table_name"] or "",
            None if sets is None else tuple(sets),
            settings.get("tuning", {}),
            tuple(settings.get("text_search_configurations", ())) or TEXT_SEARCH_CONFIGURATIONS,
            row["has_edges"],
            row["is_few"],
            bool(settings.get("packs")),
            row["first_pass"] or "whole",
            row["first_pass_dimension"],
            row["settings"] is not None,
        )

    def is_like(self, other: SearchSpace) -> bool:
        """Whether a search of both is the same statement, weighed by the same constants."""
        one, another = (replace(each, passages=min(each.passages, 1), is_remembered=False) for each in (self, other))
        return one == another

    @property
    def vectors(self) -> VectorTable:
        """The table as it is searched."""
        return VectorTable(self.table, self.first_pass, self.first_pass_dimension)


class SpaceChanged(Exception):
    """A search met something else than was remembered; that is forgotten, and nothing was sought."""


class RememberedSpaces:
    """What searches of small namespaces met last, where labels hid nothing. Whoever goes by it finds out by the way
    whether it is so still, and is spared a round trip where it is."""

    def __init__(self, most: int = _REMEMBERED_SPACES) -> None:
        self._most = most
        self._spaces: OrderedDict[str, SearchSpace] = OrderedDict()

    def get(self, namespace: str) -> SearchSpace | None:
        """What was met there; None where nobody remembers."""
        return self._spaces.get(namespace)

    def put(self, namespace: str, space: SearchSpace) -> None:
        """Remembers it, or that it is nothing to remember."""
        self._spaces.pop(namespace, None)
        if space.is_few:
            self._spaces[namespace] = replace(space, is_remembered=True)
        if len(self._spaces) > self._most:
            self._spaces.popitem(last=False)

    def forget(self, namespace: str) -> None:
        """Forgets it."""
        self._spaces.pop(namespace, None)


class Store:
    """The database as the reader uses it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spaces = RememberedSpaces()

    async def snapshot(
        self, view: View, work: Callable[[Snapshot], Awaitable[T]], *, timeout_s: float, searches: bool = False
    ) -> T:
        """Runs `work` on one state of the database, on one connection, read-only; `searches`: planned for that.

        Raises DeadlineExceeded after `timeout_s`, DatabaseUnavailable, and for what the view asks to see ReplicaBehind
        and ConsistencyTokenForeign.
        """

        async def transaction(connection: Connection) -> T:
            return await work(Snapshot(connection, view, self._spaces))

        return await self._database.transaction(
            transaction,
            timeout_s=timeout_s,
            isolation="repeatable_read",
            readonly=True,
            settings=SETTINGS if searches else {},
            after=view.after,
        )

    async def list_namespaces(
        self, *, after: str | None, prefix: str, exact: list[str], prefixes: list[str], limit: int, timeout_s: float
    ) -> list[str]:
        """Names of namespaces that hold an observation and are granted, by rising name."""
        async with self._database.connection(timeout_s) as connection:
            rows = await connection.fetch(_SQL.list_namespaces, after, prefix, exact, prefixes, limit)
        return [row["namespace"] for row in rows]


class Snapshot:
    """One state of the database as one caller sees it. Each method runs the statement of its name."""

    def __init__(self, connection: Connection, view: View, spaces: RememberedSpaces | None = None) -> None:
        self._connection = connection
        self._view = view
        self._spaces = spaces or RememberedSpaces()
        self._seen = (view.namespace, list(view.granted), view.sees_all)
        self._vectors: str | None = None
        self.is_unconfigured = False
        """Whether it is known by now that the namespace has no settings of its own."""
        self.visible_passages = 0
        """Of the last search: passages that the caller may see, counted up to `tuning.COUNTED_PASSAGES`."""
        self._passages: dict[int, Row] = {}
        # By observation: it, or nothing where it is not visible.
        self._origins: dict[str, list[Row]] = {}

    def remembered_space(self, wanted: Filter) -> SearchSpace | None:
        """What the last such search met, if that is remembered."""
        space = self._spaces.get(self._view.namespace) if self._is_unlabelled(wanted) else None
        if space is not None:
            self._meet(space)
        return space

    async def prepare_search(self, wanted: Filter) -> SearchSpace:
        """Says what a search meets."""
        if self._is_unlabelled(wanted):
            [row] = await self._fetch(_SEARCH.prepare_search, tuning.COUNTED_PASSAGES, tuning.FEW_PASSAGES)
        else:
            [row] = await self._fetch(
                _SEARCH.prepare_labelled_search,
                tuning.COUNTED_PASSAGES,
                list(wanted.labels),
                tuning.LABEL_SETS,
                tuning.FEW_PASSAGES,
            )
        space = SearchSpace.of(row)
        self._meet(space)
        if self._is_unlabelled(wanted):
            self._spaces.put(self._view.namespace, space)
        return space

    def _is_unlabelled(self, wanted: Filter) -> bool:
        """Whether labels let everything through."""
        return self._view.sees_all and not wanted.labels

    def _meet(self, space: SearchSpace) -> None:
        self._vectors, self.is_unconfigured = space.table, not space.is_configured

    async def walks_index(self, space: SearchSpace, *, exact_scan_rows: int, labels: Sequence[str] = ()) -> bool:
        """Whether the vectors of a space are searched approximately, by a request of these labels, which the planner is
        told then."""
        if not space.table or space.passages <= min(exact_scan_rows, tuning.COUNTED_PASSAGES - 1):
            return False
        counted = "counted_by_row" if space.label_sets is None else "counted_by_set"
        statement = _SEARCH.with_table("walks_index", vectors=space.table, labels_counted=counted)
        [row] = await self._fetch(
            statement, space.label_sets, float(exact_scan_rows), tuning.WALKED_SHARE, list(labels)
        )
        return bool(row["walks"])

    async def search(
        self,
        space: SearchSpace,
        *,
        words: str,
        vector: bytes | None,
        approximate: bool,
        wanted: Filter,
        limit: int,
        window: Window | None = None,
    ) -> Candidates:
        """Candidates, at most `limit` a signal. Without vector or words, the other signal alone.

        Raises SpaceChanged where the space was remembered, and is so no more.
        """
        metrics.tell_recall(has_vector=vector is not None, approximate=approximate)
        statement = search_statement(
            space.vectors if vector else None,
            approximate=approximate,
            by_label_set=space.label_sets is not None,
            words=words,
            is_few=space.is_few,
            wanted=wanted,
            is_remembered=space.is_remembered,
        )
        arguments = search_arguments(
            wanted, self.holders(wanted), space.passages, limit, space.label_sets, space.configurations, window
        )
        if space.is_remembered:
            row = await self._search_remembered(space, statement, words, vector, *arguments)
        else:
            [row] = await self._fetch(statement, words, vector, *arguments)
        self.visible_passages = int(row["passages"])
        found, unknown = Candidates.of_row(row), row["unknown"]
        if not words or (found and not unknown and not _DIGIT.search(words)):
            return found
        sought = unknown or [] if found else None
        [named] = await self._fetch(names_statement(wanted), words, None, *arguments, sought)
        weight = row["term_weight"] if found else None
        return with_names(found, named, passages=self.visible_passages, term_weight=weight)

    async def _search_remembered(self, space: SearchSpace, statement: str, *arguments: Any) -> Row:
        """The row of a search where the space is as it was remembered."""
        try:
            [row] = await self._fetch(statement, *arguments, tuning.FEW_PASSAGES)
            if not SearchSpace.of(row).is_like(space):
                raise SpaceChanged
        except BaseException:
            # Its table may be gone: whoever tries again looks again.
            self._spaces.forget(self._view.namespace)
            raise
        return row

    def holders(self, wanted: Filter) -> list[str]:
        """Who is asking, as rules name it. One that sees all may ask on behalf of agents and roles that it names."""
        named = wanted.labels if self._view.sees_all else ()
        return [*self._view.holders, *(holder for label in named for holder in rule_holders(label))]

    async def has_lexemes_left_out(self, words: str) -> bool:
        """Whether the query has more lexemes than a search takes."""
        return bool(await self._connection.fetchval(_SEARCH.has_lexemes_left_out, words, tuning.QUERY_LEXEMES))

    async def has_vectors(self, space: SearchSpace) -> bool:
        """Whether anything that the caller may see has a vector in the space."""
        if not space.fingerprint:
            return False
        [row] = await self._fetch(_SEARCH.with_table("has_vectors", vectors=space.table))
        return bool(row["exists"])

    async def has_visible_edges(self) -> bool:
        """Whether there is a link or a fact between entities that the caller may see."""
        [row] = await self._fetch(_SQL.has_visible_edges)
        return bool(row["exists"])

    async def passages_by_id(self, passage_ids: Sequence[int]) -> dict[int, Row]:
        """The passages that a search of this snapshot gave, by id. Each is read once a snapshot."""
        missing = [each for each in passage_ids if each not in self._passages]
        if missing:
            table = await self._active_vectors()
            parts = {"embedded": "has_vector", "vectors": table} if table else {"embedded": "has_none"}
            rows = await self._fetch(_SEARCH.with_table("passages_by_id", **parts), missing)
            for row in rows:
                self._passages[row["passage_id"]] = row
                if row["observation_id"]:
                    self._origins[row["observation_id"]] = [_origin(row)] if row["origin_id"] else []
        return {each: self._passages[each] for each in passage_ids if each in self._passages}

    async def provenance(self, items: Sequence[tuple[int, str, str | None]], *, limit: int) -> list[list[Row]]:
        """For each item (kind, key, observation or None) the observations that it rests on, oldest first."""
        if not items:
            return []
        found = [self._origins.get(observation_id or "") for _, _, observation_id in items]
        missing = [place for place, rows in enumerate(found) if rows is None]
        if missing:
            kinds, keys, observation_ids = zip(*(items[place] for place in missing), strict=True)
            read: list[list[Row]] = [[] for _ in missing]
            for row in await self._fetch(_SQL.provenance, list(kinds), list(observation_ids), limit, list(keys)):
                read[row["place"] - 1].append(row)
            for place, rows in zip(missing, read, strict=True):
                found[place] = rows
        return [rows or [] for rows in found]

    async def get_entities(self, keys: Sequence[str]) -> dict[str, Row]:
        """The visible ones of the entities, by key."""
        if not keys:
            return {}
        return {row["natural_key"]: row for row in await self._fetch(_SQL.get_entities, list(keys))}

    async def list_entity_keys(
        self,
        *,
        after: str | None,
        limit: int,
        kinds: Sequence[str],
        prefix: str,
        include_placeholders: bool,
        include_history: bool,
    ) -> list[str]:
        """Keys of visible entities, in rising order."""
        rows = await self._fetch(
            _SQL.list_entity_keys, after, limit, list(kinds), prefix, include_placeholders, include_history
        )
        return [row["natural_key"] for row in rows]

    async def get_facts(self, fact_ids: Sequence[str]) -> dict[str, Row]:
        """The visible ones of the facts, by id, whatever their intervals and states."""
        if not fact_ids:
            return {}
        return {row["fact_id"]: row for row in await self._fetch(_SQL.get_facts, list(fact_ids))}

    async def list_fact_ids(self, selection: FactSelection) -> list[Row]:
        """Ids and sort keys of visible facts, by subject, predicate, start and id."""
        return await self._fetch(_SQL.list_fact_ids, *selection.arguments)

    async def get_observation(self, observation_id: str) -> Row | None:
        """The observation. None where it is not stored or not visible."""
        return next(iter(await self._fetch(_SQL.get_observation, observation_id)), None)

    async def list_observations(
        self,
        *,
        limit: int,
        system: str,
        stream: str,
        kinds: Sequence[str],
        subject_keys: Sequence[str] | None,
        actor_keys: Sequence[str] | None,
        occurred_from: datetime | None,
        occurred_before: datetime | None,
        after: tuple[datetime, str] | None,
    ) -> list[Row]:
        """Visible observations, newest first, then by id."""
        return await self._fetch(
            _SQL.list_observations,
            limit,
            system,
            stream,
            list(kinds),
            subject_keys,
            actor_keys,
            occurred_from,
            occurred_before,
            *(after or (None, None)),
        )

    async def get_document(self, entity_key: str) -> Row | None:
        """The text of an entity and the observation that it came from. None where it has none that is visible."""
        return next(iter(await self._fetch(_SQL.get_document, entity_key)), None)

    async def joined_chunks(self, entity_key: str) -> str:
        """The visible chunks of an entity, joined in order."""
        [row] = await self._fetch(_SQL.joined_chunks, entity_key)
        return cast(str, row[0])  # type: ignore[index]  # a record has numbers too

    async def list_chunks(self, entity_key: str, *, after: int, limit: int) -> list[Row]:
        """Visible chunks of an entity, by rising ordinal."""
        return await self._fetch(_SQL.list_chunks, entity_key, after, limit)

    async def embedded_passages(self, passage_ids: Sequence[int]) -> set[int]:
        """Those of the passages that have a vector in the active space."""
        table = await self._active_vectors() if passage_ids else ""
        if not table:
            return set()
        statement = _SQL.with_table("embedded_passages", vectors=table)
        rows = await self._connection.fetch(statement, self._view.namespace, list(passage_ids))
        return {row["passage_id"] for row in rows}

    async def list_neighbors(self, keys: Sequence[str], selection: EdgeSelection) -> list[Row]:
        """Edges from an entity, by all its keys, to visible neighbours, heaviest first."""
        return await self._fetch(_SQL.list_neighbors, list(keys), *selection.arguments)

    async def list_link_claims(self, *, limit: int, after: tuple[datetime, str, str, str, str] | None) -> list[Row]:
        """Visible links that wait for their target, oldest first."""
        return await self._fetch(_SQL.list_link_claims, limit, *(after or (None, None, None, None, None)))

    async def list_sources(self, *, limit: int, after: tuple[str, str] | None) -> list[Row]:
        """Registered sources, by system and stream. They carry no labels: every reader of the namespace sees them."""
        position = after or (None, None)
        rows = await self._connection.fetch(_SQL.list_sources, self._view.namespace, limit, *position)
        return cast(list[Row], rows)

    async def statistics(self) -> Row:
        """Counts of what is visible."""
        [row] = await self._fetch(_SQL.statistics)
        return row

    async def digest_settings(self) -> None:
        """Makes the texts of rows independent of the session, until the snapshot ends."""
        await self._connection.fetchrow(_SQL.digest_settings)

    async def digest_table(self, table: str, left_out: Sequence[str], rows_left_out: str | None) -> tuple[int, str]:
        """The number of rows of a table in the namespace, and a hash over them, less some columns, and rows that hold a
        JSON object."""
        statement = _SQL.with_table("digest_table", table=table)
        row = await self._connection.fetchrow(statement, self._view.namespace, list(left_out), rows_left_out)
        assert row is not None
        return row["rows"], row["digest"]

    async def run(self, statement: str, *arguments: Any) -> list[Row]:
        """The rows of a statement of another file that begins with the same three arguments."""
        return await self._fetch(statement, *arguments)

    async def active_fingerprint(self) -> str:
        """Whose vectors are searched; empty where there are none."""
        row = await self._connection.fetchrow(_SQL.active_space)
        return row["fingerprint"] if row else ""

    async def _active_vectors(self) -> str:
        """The table of the active space, read once a snapshot; empty where there is none."""
        if self._vectors is None:
            row = await self._connection.fetchrow(_SQL.active_space)
            self._vectors = row["table_name"] if row else ""
        return self._vectors

    async def _fetch(self, statement: str, *arguments: Any) -> list[Row]:
        return cast(list[Row], await self._connection.fetch(statement, *self._seen, *arguments))


def _origin(row: Row) -> Row:
    """The observation that a passage came from, as `provenance` gives it."""
    return {
        "observation_id": row["origin_id"],
        "source_system": row["origin_system"],
        "source_stream": row["origin_stream"],
        "external_id": row["external_id"],
        "revision": row["revision"],
        "occurred_at": row["origin_occurred_at"],
        "actor_key": row["actor_key"],
        "message": row["message"],
    }
