"""Which form of a space's vectors its index holds: they whole, one bit a dimension, or their beginning (EM-6).

For sets whose graph of whole vectors is too large for memory: the first pass walks the smaller graph, and what it finds
is held against the query whole. Made beside the former index, so that searches go on; the switch is one row, and what
was walked before is dropped after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import asyncpg

from shared.schema.migrate import SchemaError
from shared.sqlstate import describe
from shared.statements import load_statements

Form = Literal["whole", "binary", "truncated"]
LEAST_DIMENSION = 8
_PATIENCE_S = 60

_SQL = load_statements(Path(__file__).with_name("vector_index.sql"))
_SUFFIX: dict[Form, str] = {"whole": "by_meaning", "binary": "by_bits", "truncated": "by_beginning"}


async def index_vectors(
    dsn: str,
    form: Form,
    *,
    dimension: int | None = None,
    fingerprint: str | None = None,
    build_memory: str = "256MB",
    progress: Callable[[str], None] = lambda _: None,
) -> bool:
    """Makes the index of a space hold vectors of `form`; `dimension` of the beginning, for `truncated` alone.

    The active space where no `fingerprint` is given. Searches and writes go on. Idempotent, and resumable after it was
    killed: parts that are whole are kept. False where the space has that index already. `build_memory` is Postgres's
    maintenance_work_mem, best as large as the graph of a sixteenth of the vectors. `dsn` must belong to the schema's
    owner and lead to the primary itself, not through a pooler. Raises SchemaError.
    """
    connection = await asyncpg.connect(dsn)
    try:
        return await _Work(connection, form, progress).run(fingerprint, dimension, build_memory)
    except asyncpg.PostgresError as error:
        # Not by its class, of which a lock that was not got is one too.
        if error.sqlstate == asyncpg.ObjectNotInPrerequisiteStateError.sqlstate:
            raise SchemaError("the space has no vectors yet, of which to take the middle: embed first") from None
        raise SchemaError(f"the index of vectors could not be made: {describe(error)}") from None
    finally:
        await connection.close()


class _Work:
    """One change of a space's index."""

    def __init__(self, connection: asyncpg.Connection, form: Form, progress: Callable[[str], None]) -> None:
        self._connection = connection
        self._form = form
        self._progress = progress

    async def run(self, fingerprint: str | None, dimension: int | None, build_memory: str) -> bool:
        space = await self._connection.fetchrow(_SQL.space, fingerprint)
        if space is None:
            raise SchemaError(f"there is no space {fingerprint}" if fingerprint else "no space is active yet")
        size = _dimension(self._form, dimension, space["dimension"])
        if (space["first_pass"], space["first_pass_dimension"]) == (self._form, size):
            await self._drop_others(space["table_name"])
            return False
        if space["first_pass"] == self._form:
            raise SchemaError(f"the index has {space['first_pass_dimension']} dimensions: choose whole first")
        table = space["table_name"]
        if not await self._connection.fetchval(_SQL.lock, table):
            raise SchemaError("the index is being made by another command: wait for it")
        await self._connection.fetch(_SQL.settings, build_memory)
        await self._make(table, size)
        await self._connection.execute(_SQL.choose, space["fingerprint"], self._form, size)
        await self._drop_others(table)
        return True

    async def _make(self, table: str, dimension: int | None) -> None:
        """The index with a part for each partition; those that are whole already are kept."""
        parts: dict[str, str] = {"form": self._form}
        if dimension is not None:
            await self._connection.execute(_SQL.define, table, self._form, dimension)
            parts |= {"dimension": str(dimension), "table": table}
        index = f"{table}_{_SUFFIX[self._form]}"
        await self._execute("create_index", index=index, **{**parts, "table": table})
        partitions = await self._connection.fetch(_SQL.partitions, table, index)
        for number, row in enumerate(partitions, start=1):
            if row["local"] is None:
                local = f"{row['partition']}_{_SUFFIX[self._form]}"
                await self._execute("drop_local", local=local)
                await self._execute("create_local", local=local, partition=row["partition"], **parts)
                await self._execute("attach_local", index=index, local=local)
            self._progress(f"{number} of {len(partitions)} parts")

    async def _drop_others(self, table: str) -> None:
        """What was walked before, if it is there; searches that walk it, or come to it yet, are waited for."""
        await self._wait_for_those_under_way()
        for form in _SUFFIX.keys() - {self._form}:
            await self._execute("drop_index", index=f"{table}_{_SUFFIX[form]}")
            if form != "whole":
                await self._execute(f"drop_{form}", table=table)

    async def _wait_for_those_under_way(self) -> None:
        """A search that was told of the former index before the switch may not have come to it."""
        begun = await self._under_way()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while begun & await self._under_way():  # noqa: ASYNC110 - nothing tells when they end
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise SchemaError(
                "the index is made and searches walk it; the former one is there as long as a transaction that began "
                "before: end that, and run the command again"
            ) from None

    async def _under_way(self) -> set[str]:
        return {row["virtualtransaction"] for row in await self._connection.fetch(_SQL.under_way)}

    async def _execute(self, name: str, **parts: str) -> None:
        await self._connection.execute(_SQL.with_table(name, **parts))


def _dimension(form: Form, asked: int | None, whole: int) -> int | None:
    """How many dimensions the index has; None: all, of whole vectors. Raises SchemaError."""
    if form == "truncated":
        if asked is None or not LEAST_DIMENSION <= asked < whole:
            raise SchemaError(f"truncated vectors of this space have {LEAST_DIMENSION} to {whole - 1} dimensions")
        return asked
    if asked is not None:
        raise SchemaError(f"dimensions are given for truncated vectors, not for {form} ones")
    return whole if form == "binary" else None
