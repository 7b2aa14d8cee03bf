"""SQL files: every statement has a name of its own, and only a table's name can be put into its text."""

from pathlib import Path

import pytest

from shared.statements import StatementFileError, Statements, load_statements, statement_name

FILE = """\
-- All about chunks.

-- name: claim_chunks
-- The oldest chunks.
-- Locked for this worker.
SELECT ordinal -- not the description
FROM chunks WHERE weights = '{1,1}' AND tags <> '{a}';

-- name: nearest
-- The nearest vectors.
SELECT id FROM {vectors} JOIN {chunks} USING (id)
"""


def load(tmp_path: Path, text: str) -> Statements:
    path = tmp_path / "store.sql"
    path.write_text(text)
    return load_statements(path)


def test_a_statement_is_an_attribute_without_description_and_semicolon(tmp_path: Path) -> None:
    assert load(tmp_path, FILE).claim_chunks == (
        "-- name: claim_chunks\nSELECT ordinal -- not the description\n"
        "FROM chunks WHERE weights = '{1,1}' AND tags <> '{a}'"
    )


def test_all_names_can_be_listed(tmp_path: Path) -> None:
    assert list(load(tmp_path, FILE)) == ["claim_chunks", "nearest"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2", "store.sql:3: a second statement named a"),
        ("-- name:\nSELECT 1", "store.sql:1: '' is no snake_case name"),
        ("-- name: camelCase\nSELECT 1", "store.sql:1: 'camelCase' is no"),
        ("-- name: a b\nSELECT 1", "store.sql:1: 'a b' is no"),
        ("SELECT 1;\n-- name: a\nSELECT 1", "store.sql:0: '' is no"),
        ("-- name: a\n-- Only words.\n", "store.sql:1: a has no SQL"),
        ("-- name: a\n-- name: b\nSELECT 1", "store.sql:1: a has no SQL"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(StatementFileError, match=message):
        load(tmp_path, text)


def test_an_unknown_statement_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match=r"store\.sql has no statement 'claim_facts'"):
        _ = load(tmp_path, FILE).claim_facts


def test_a_placeholder_is_filled_with_a_table(tmp_path: Path) -> None:
    text = load(tmp_path, FILE).with_table("nearest", vectors="vectors_0123456789ab", chunks="chunks")
    assert text == "-- name: nearest\nSELECT id FROM vectors_0123456789ab JOIN chunks USING (id)"


def test_the_same_tables_give_the_same_string(tmp_path: Path) -> None:
    statements = load(tmp_path, FILE)
    first = statements.with_table("nearest", vectors="v", chunks="c")
    assert statements.with_table("nearest", chunks="c", vectors="v") is first
    assert statements.with_table("nearest", chunks="v", vectors="c") != first


@pytest.mark.parametrize("table", ["", "a b", "a;", "A", 'a"', "a.b", "a\n", "ä"])
def test_nothing_but_an_identifier_gets_into_a_statement(tmp_path: Path, table: str) -> None:
    with pytest.raises(ValueError, match="is no table name"):
        load(tmp_path, FILE).with_table("nearest", vectors=table, chunks="c")


@pytest.mark.parametrize("tables", [{}, {"vectors": "v"}, {"vectors": "v", "chunks": "c", "other": "o"}])
def test_each_placeholder_is_filled_and_nothing_else(tmp_path: Path, tables: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"nearest has the placeholders \['chunks', 'vectors'\]"):
        load(tmp_path, FILE).with_table("nearest", **tables)


def test_a_statement_with_placeholders_cannot_be_used_unfilled(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match=r"nearest needs a table for \{vectors\}"):
        _ = load(tmp_path, FILE).nearest


FRAGMENTS = """\
-- fragment: seen
-- What may be seen.
NOT hidden

-- fragment: few
SELECT id FROM {vectors} WHERE {seen}

-- fragment: many
SELECT id FROM {vectors} WHERE {seen} ORDER BY id

-- name: nearest
SELECT * FROM ({way}) AS found WHERE {seen}
"""


def test_fragments_are_put_where_they_are_named_and_chosen(tmp_path: Path) -> None:
    statements = load(tmp_path, FRAGMENTS)
    assert list(statements) == ["nearest"]
    assert statements.with_table("nearest", way="many", vectors="v") == (
        "-- name: nearest\nSELECT * FROM (SELECT id FROM v WHERE NOT hidden ORDER BY id) AS found WHERE NOT hidden"
    )


@pytest.mark.parametrize("parts", [{"way": "many"}, {"vectors": "v"}, {"way": "x y", "vectors": "v"}])
def test_fragments_leave_no_placeholder_open(tmp_path: Path, parts: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"placeholders|is no table name"):
        load(tmp_path, FRAGMENTS).with_table("nearest", **parts)


def test_a_statement_is_known_by_its_name_and_others_by_their_first_word(tmp_path: Path) -> None:
    """OP-3: what a span of a statement is called; never by what it holds."""
    assert statement_name(load(tmp_path, FILE).claim_chunks) == "claim_chunks"
    assert statement_name("BEGIN ISOLATION LEVEL read committed; SET LOCAL x = 1") == "BEGIN"
    assert [statement_name(text) for text in ("commit;", "\n SELECT 'secret'", "")] == ["COMMIT", "SELECT", ""]
