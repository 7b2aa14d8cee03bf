"""Seeks a text wherever a memory can keep one: rows, dead ones too, files of the database, dumps, answers of RPCs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg
import grpc
import grpc.aio
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from palimpsest.v1 import reader_service_pb2

from shared.embedded_postgres import EmbeddedPostgres
from shared.normal_form import normal_form
from tests.contract.valid_messages import valid
from tests.integration.writing import query

_TABLES = """
SELECT oid::regclass::text AS name FROM pg_class
WHERE relkind = 'r' AND (relnamespace = 'public'::regnamespace OR relname = 'pg_statistic') ORDER BY 1
"""
# Every relation that the database has, its catalogues and the parts that hold long values included.
_FILES = """
SELECT oid::regclass::text AS name, pg_read_binary_file(pg_relation_filepath(oid)) AS bytes
FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm') AND pg_relation_filepath(oid) NOT LIKE 'global/%'
"""
_ROW_VERSIONS = """
SELECT item.t_data AS bytes
FROM generate_series(0, pg_relation_size($1::text::regclass) / 8192 - 1) AS page
CROSS JOIN LATERAL heap_page_items(get_raw_page($1::text, page)) AS item
WHERE item.t_data IS NOT NULL
"""
_LONG_COLUMNS = """
SELECT format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', attrelid::regclass, attname) AS statement
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND attstorage IN ('x', 'm')
"""


def forms(text: str) -> list[str]:
    """The text, in lower case, as it is compared, and as JSON may write each."""
    told = {text, text.lower(), normal_form(text)}
    return sorted(told | {json.dumps(one)[1:-1] for one in told})


async def uncompressed(dsn: str) -> None:
    """Lets no value be compressed from now on, so that the bytes of a text are found."""
    connection = await asyncpg.connect(dsn)
    for row in await connection.fetch(_LONG_COLUMNS):
        await connection.execute(row["statement"])
    await connection.execute("CREATE EXTENSION pageinspect")
    await connection.close()


async def tables_with(dsn: str, *texts: str) -> set[str]:
    """Tables in which one of the texts stands in a live row: in a text, in JSON, as a lexeme, in bytes."""
    sought = [form for text in texts for form in forms(text)]
    sought += [text.encode().hex() for text in sought]
    names = [row["name"] for row in await query(dsn, _TABLES)]
    rows = " UNION ALL ".join(f"SELECT '{name}' AS name, t::text AS row FROM {name} AS t" for name in names)
    where = "EXISTS (SELECT FROM unnest($1::text[]) AS form WHERE position(form IN row) > 0)"
    return {
        row["name"] for row in await query(dsn, f"SELECT DISTINCT name FROM ({rows}) AS rows WHERE {where}", sought)
    }


async def row_versions_with(dsn: str, *texts: str) -> set[str]:
    """Tables of which a row version, dead ones included, holds one of the texts."""
    connection = await asyncpg.connect(dsn)
    found = set()
    for [name] in await connection.fetch(_TABLES):
        if _hold((row["bytes"] for row in await connection.fetch(_ROW_VERSIONS, name)), texts):
            found.add(name)
    await connection.close()
    return found


async def files_with(dsn: str, *texts: str) -> set[str]:
    """Tables and indexes whose files hold one of the texts anywhere."""
    await query(dsn, "CHECKPOINT")
    return {row["name"] for row in await query(dsn, _FILES) if _hold([row["bytes"]], texts)}


def dump_with(postgres: EmbeddedPostgres, dsn: str, *texts: str) -> list[str]:
    """Lines of a fresh dump that hold one of the texts."""
    lines = subprocess.check_output([postgres.program("pg_dump"), dsn], text=True).splitlines()
    sought = [form for text in texts for form in forms(text)]
    sought += [text.encode().hex() for text in sought]
    return [line for line in lines if any(form in line for form in sought)]


def _hold(pieces: Iterable[bytes], texts: Sequence[str]) -> bool:
    sought = [form.encode() for text in texts for form in forms(text)]
    return any(form in piece for piece in pieces for form in sought)


# --- RPCs ------------------------------------------------------------------------------------------------------------


class Names:
    """What requests may ask by: values of fields by their names. Of each field all are tried, one a call."""

    def __init__(self, namespace: str, **values: Sequence[Any]) -> None:
        self.namespace = namespace
        self._values = values

    def requests(self, message: Any) -> list[Message]:
        """Valid requests: a bare one, and for each known field of theirs, and each value, one with that alone set."""
        made = [valid(message, self.namespace)]
        for field in message.fields:
            for value in self._values.get(field.name, ()):
                request: Any = valid(message, self.namespace)
                _put(request, field, value)
                made.append(request)
        return made


def _put(request: Any, field: FieldDescriptor, value: Any) -> None:
    if field.message_type is None:
        setattr(request, field.name, value)
    elif isinstance(value, field.message_type._concrete_class):
        getattr(request, field.name).CopyFrom(value)


async def answers_with(channel: grpc.aio.Channel, names: Names, *texts: str, skip: Sequence[str] = ()) -> set[str]:
    """RPCs of the reader, all of them, of which an answer or an error holds one of the texts, beyond what was asked."""
    service = reader_service_pb2.DESCRIPTOR.services_by_name["ReaderService"]
    found = set()
    for method in service.methods:
        for request in () if method.name in skip else names.requests(method.input_type):
            told = await _told(channel, method, request)
            if any(form in told for text in texts for form in forms(text)):
                found.add(method.name)
    return found


async def _told(channel: grpc.aio.Channel, method: Any, request: Any) -> str:
    """All that a call answers, as text; of a stream what comes within a second."""
    kind = channel.unary_stream if method.server_streaming else channel.unary_unary
    call = kind(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=method.output_type._concrete_class.FromString,
    )
    told: list[str] = []
    try:
        if method.server_streaming:
            # One that never ends is cut off.
            async for message in call(request, timeout=1):
                told.append(text_format.MessageToString(message, as_utf8=True))
        else:
            told.append(text_format.MessageToString(await call(request, timeout=30), as_utf8=True))
    except grpc.aio.AioRpcError as error:
        trailing = " ".join(str(value) for _, value in error.trailing_metadata() or ())
        told.append(f"{error.details()} {trailing}")
    return "\n".join(told)
