"""Puts rows where a writer would, so that reads can be tested by themselves."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import numpy as np
from palimpsest.ids import fact_id, observation_id
from palimpsest.v1.fact_pb2 import FactObject
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity

from shared.database import decode_moment, encode_moment
from shared.halfvec import encode_halfvec
from shared.labels import split
from shared.timestamps import from_datetime
from shared.token_count import token_count

NAMESPACE = "demo"
NOON = datetime(2026, 8, 7, 12, tzinfo=UTC)


class Seed:
    """Writes rows of one namespace."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record], namespace: str) -> None:
        self.connection = connection
        self.namespace = namespace

    async def observation(
        self,
        external_id: str,
        content: str = "",
        *,
        system: str = "jira",
        stream: str = "OPS",
        uri: str = "",
        occurred_at: datetime = NOON,
        scopes: Sequence[str] = (),
        actor_key: str | None = None,
        kind: str = "note",
        data: str | None = None,
    ) -> str:
        """An observation, processed."""
        source = SourceIdentity(system=system, stream=stream, external_id=external_id)
        made = observation_id(self.namespace, source)
        message = Observation(source=source, kind=kind, occurred_at=from_datetime(occurred_at), scopes=scopes)
        if uri:
            message.provenance.uri = uri
        await self._insert(
            "observations",
            observation_id=made,
            content_hash=hashlib.sha256(content.encode()).hexdigest(),
            source_system=system,
            source_stream=stream,
            external_id=external_id,
            kind=kind,
            occurred_at=occurred_at,
            actor_key=actor_key,
            content=content,
            data=data,
            message=message.SerializeToString(),
            status=2,
            **_labels(scopes),
        )
        return made

    async def entity(
        self, key: str, *, title: str = "", observations: Sequence[str] = (), scopes: Sequence[str] = (), **columns: Any
    ) -> str:
        """An entity, and the evidence of it."""
        await self._insert(
            "entities",
            natural_key=key,
            title=title,
            last_seen_at=NOON,
            **({"kind": key.partition(":")[0], "placeholder": False} | columns),
            **_labels(scopes),
        )
        for each in observations:
            await self._insert("entity_evidence", natural_key=key, observation_id=each, occurred_at=NOON)
        return key

    async def passage(self, kind: int, owner_key: str, text: str, *, scopes: Sequence[str] = (), **columns: Any) -> int:
        """A searchable row; returns its id."""
        given = {"title": "", "heading": "", "owner_kind": owner_key.partition(":")[0], "ordinal": 0} | columns
        head = " — ".join(filter(None, (given["title"], given["heading"])))
        embedded = f"{head}\n{text}" if head else text
        return await self._insert(
            "passages",
            "passage_id",
            kind=kind,
            owner_key=owner_key,
            text=text,
            token_count=token_count(text),
            embedding_hash=hashlib.sha256(embedded.encode()).hexdigest(),
            **({"occurred_at": NOON} | given),
            **_labels(scopes),
        )

    async def note(self, external_id: str, text: str, *, scopes: Sequence[str] = (), **columns: Any) -> str:
        """An observation with its text as one chunk; returns the id, which is the entity's key too."""
        known = {name: columns.pop(name) for name in ("system", "stream", "uri", "occurred_at") if name in columns}
        made = await self.observation(external_id, text, scopes=scopes, **known)
        await self.entity(made, kind="observation", observations=[made], scopes=scopes)
        await self._insert(
            "documents",
            entity_key=made,
            body=text,
            media_type="text/plain",
            content_hash="",
            occurred_at=NOON,
            observation_id=made,
            assertion_index=0,
        )
        mirrored = {
            "source_system": known.get("system", "jira"),
            "source_stream": known.get("stream", "OPS"),
            "occurred_at": known.get("occurred_at", NOON),
        }
        await self.passage(
            1, made, text, scopes=scopes, **({"observation_id": made, "owner_kind": "observation"} | mirrored | columns)
        )
        return made

    async def fact(
        self,
        subject: str,
        predicate: str,
        target: str,
        observations: Sequence[str],
        *,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        scopes: Sequence[str] = (),
        hidden: bool = False,
        **columns: Any,
    ) -> str:
        """A fact between entities that are there, with its sentence as a passage."""
        value = FactObject(entity=EntityRef(key=target))
        start = from_datetime(valid_from) if valid_from else None
        made = fact_id(self.namespace, subject, predicate, value, start)
        sentence = " ".join((subject.split(":")[-1], predicate.lower().replace("_", " "), target.split(":")[-1]))
        await self._insert(
            "facts",
            fact_id=made,
            subject_key=subject,
            predicate=predicate,
            object_type="entity",
            object_text=target,
            object_key=target,
            object=value.SerializeToString(),
            valid_from=valid_from,
            valid_to=valid_to,
            observed_at=NOON,
            sentence=sentence,
            **({"evidence": 4, "confidence": 1.0} | columns),
            **_labels(scopes),
        )
        for each in observations:
            await self._insert(
                "fact_evidence", fact_id=made, observation_id=each, occurred_at=NOON, evidence=4, confidence=1.0
            )
        mirrored = {name: columns[name] for name in ("status", "importance", "expires_at") if name in columns}
        await self.passage(
            2,
            made,
            sentence,
            owner_kind=predicate,
            valid_from=valid_from,
            valid_to=valid_to,
            hidden=hidden,
            scopes=scopes,
            **mirrored,
        )
        await self.connection.fetch("SELECT mirror_fact_labels(ARRAY[$1], ARRAY[$2])", self.namespace, made)
        return made

    async def link(
        self, source: str, relation: str, target: str, observations: Sequence[str], weight: float = 1.0
    ) -> None:
        """A link and its evidence."""
        edge = {"source_key": source, "relation": relation, "target_key": target, "weight": weight}
        await self._insert("links", **edge)
        for each in observations:
            await self._insert("link_evidence", observation_id=each, **edge)

    async def space(self, fingerprint: str, dimension: int, state: str = "active") -> str:
        """A vector space; returns its table."""
        table = "vectors_" + fingerprint.removeprefix("fp-")
        await self.connection.execute("SELECT create_vector_table($1, $2)", table, dimension)
        await self.connection.execute(
            "INSERT INTO embedding_spaces (fingerprint, model, revision, query_prefix, passage_prefix, pooling,"
            " dimension, normalized, table_name, state) VALUES ($1, 'm', 'r', '', '', 'mean', $2, true, $3, $4)",
            fingerprint,
            dimension,
            table,
            state,
        )
        return table

    async def vectors(self, table: str, vectors: dict[int, np.ndarray[Any, Any]]) -> None:
        """Vectors of passages."""
        await self.connection.set_type_codec("halfvec", schema="public", encoder=bytes, decoder=bytes, format="binary")
        await self.connection.executemany(
            f"INSERT INTO {table} SELECT namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, $3"
            " FROM passages WHERE namespace = $1 AND passage_id = $2",
            [(self.namespace, passage_id, encode_halfvec(vector)) for passage_id, vector in vectors.items()],
        )

    async def _insert(self, table: str, returning: str = "namespace", **columns: Any) -> Any:
        names = ["namespace", *columns]
        places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places}) RETURNING {returning}"
        return await self.connection.fetchval(statement, self.namespace, *columns.values())


@asynccontextmanager
async def seeding(dsn: str, namespace: str = NAMESPACE) -> AsyncIterator[Seed]:
    """A seed over a connection of its own."""
    connection = await asyncpg.connect(dsn)
    await connection.set_type_codec(
        "timestamptz", schema="pg_catalog", encoder=encode_moment, decoder=decode_moment, format="tuple"
    )
    try:
        yield Seed(connection, namespace)
    finally:
        await connection.close()


def _labels(scopes: Sequence[str]) -> dict[str, list[str]]:
    restricting, applies = split(scopes)
    return {"scopes": sorted(set(scopes)), "restricting": restricting, "applies": applies}
