"""Projection of entities, links and documents."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from palimpsest.v1.reference_pb2 import Provenance

from services.writer.projection.merge import merge_entity
from services.writer.projection.passages import entity_passage
from shared.domain_packs.key_forms import bare_id, default_kind
from tests.unit.projecting import at, projected, the_entity


def entity(**fields: Any) -> dict[str, Any]:
    return {"entity": {"entity": {"key": "page:1"}, **fields}}


def test_only_present_fields_are_written() -> None:
    """EN-1: a field that is not said does not overwrite one that was."""
    write = the_entity(projected(entity()), "page:1")
    assert write.fields == {}
    assert merge_entity(None, [write]).placeholder is False


def test_every_field() -> None:
    """EN-1: each as its column; attributes one field a key."""
    provenance = Provenance(uri="https://example.org/1", extra={"b": "1", "a": "2"})
    write = the_entity(
        projected(
            entity(
                kind="article",
                title="",
                aliases=["b", "a"],
                source_path="docs/1.md",
                source_id="1",
                url="https://example.org/1",
                author="alice",
                source_created_at=at("2026-01-01T00:00:00Z"),
                source_updated_at=at("2026-01-02T00:00:00Z"),
                confidence=0.0,
                importance="IMPORTANCE_HIGH",
                attributes='{"n": 9007199254740993, "x.y": [1,  2], "gone": null}',
                status="STATUS_DRAFT",
                expires_at=at("2027-01-01T00:00:00Z"),
                scopes=["project:b", "project:a"],
                provenance=provenance,
                pii_categories=["fio", "address", "fio"],
            ),
            scopes=["team:a", "project:a"],
        ),
        "page:1",
    )
    assert write.fields == {
        "kind": "article",
        "title": "",
        "aliases": ("b", "a"),
        "named": True,
        "source_path": "docs/1.md",
        "source_id": "1",
        "url": "https://example.org/1",
        "author": "alice",
        "source_created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "source_updated_at": datetime(2026, 1, 2, tzinfo=UTC),
        "confidence": 0.0,
        "importance": 3,
        "attributes.n": "9007199254740993",
        "attributes.x.y": "[1,  2]",
        "attributes.gone": "null",
        "status": 2,
        "expires_at": datetime(2027, 1, 1, tzinfo=UTC),
        "scopes": ("project:a", "project:b", "team:a"),
        "provenance": provenance.SerializeToString(deterministic=True),
        "pii_categories": ("address", "fio"),
    }


@pytest.mark.parametrize("status", ["STATUS_STALE", "STATUS_SUPERSEDED"])
def test_outcomes_are_not_asserted(status: str) -> None:
    """EN-5: only DRAFT, ACTIVE and ARCHIVED can be."""
    [failure] = projected(entity(status=status)).failures
    assert failure.field == "assertions[0].entity.status"


@pytest.mark.parametrize(
    ("key", "kind", "bare"),
    [
        ("person:alice", "person", "alice"),
        ("a.b-c_1:x:y", "a.b-c_1", "x:y"),
        ("Person:alice", "", "Person:alice"),
        ("alice", "", "alice"),
        (":x", "", ":x"),
        ("x:", "", "x:"),
        ("https://example.org", "", "https://example.org"),
        ("проект:альфа", "", "проект:альфа"),
        ("x" * 65 + ":y", "", "x" * 65 + ":y"),
    ],
)
def test_what_a_key_says(key: str, kind: str, bare: str) -> None:
    """EN-1: a key of the form `type:id` has that type, typed or not."""
    assert (default_kind(key), bare_id(key)) == (kind, bare)


def test_passage_of_an_entity() -> None:
    """EN-1: title and aliases of the merged entity are searchable."""
    found = projected(entity(title="Ёлка", aliases=["tree", "дерево"], importance=4), scopes=["role:a"])
    passage = entity_passage("demo", merge_entity(None, [the_entity(found, "page:1")]))
    assert passage
    assert (passage.kind, passage.owner_key, passage.owner_kind) == (3, "page:1", "page")
    assert (passage.text, passage.scopes, passage.importance) == ("Ёлка\ntree\nдерево", ("role:a",), 4)
    assert passage.observation_id is None


@pytest.mark.parametrize(
    "assertion",
    [
        entity(),
        entity(title=" "),
        entity(url="https://example.org"),
        {"document": {"entity": {"key": "page:1"}, "title": "Handbook", "text": "x"}},
        {"record": {"entity": {"key": "page:1"}, "summary": "s", "rule": {"text": "t", "scope": 1}}},
        {"episode": {"entity": {"key": "page:1"}, "summary": "s", "action": "a"}},
    ],
)
def test_entities_that_nobody_named_have_no_passage(assertion: dict[str, Any]) -> None:
    """DO-3: titles of texts and records are found through their own passages."""
    assert entity_passage("demo", merge_entity(None, [the_entity(projected(assertion), "page:1")])) is None


def test_links_and_claims() -> None:
    """DO-7: a key links at once, a reference waits as a claim; ends become placeholders."""
    found = projected(
        {"link": {"source": {"key": "a"}, "relation": "PART_OF", "entity": {"typed": {"type": "t", "id": "b"}}}},
        {
            "link": {
                "source": {"key": "a"},
                "relation": "LINKS_TO",
                "reference": {"kind": "issue", "ref": "е\u0308-1", "source_hint": "jira"},
                "weight": 0.0,
            }
        },
    )
    [link], [claim] = found.links, found.claims
    assert (link.source_key, link.relation, link.target_key, link.weight) == ("a", "PART_OF", "t:b", 1.0)
    assert (claim.source_key, claim.target_kind, claim.target_ref, claim.source_hint, claim.weight) == (
        "a",
        "issue",
        "ё-1",
        "jira",
        0.0,
    )
    assert {write.key for write in found.entities} == {"a", "t:b"}


def test_a_link_without_a_target() -> None:
    """OB-4: is refused."""
    [failure] = projected({"link": {"source": {"key": "a"}, "relation": "PART_OF"}}).failures
    assert failure.field == "assertions[0].link.target"


def test_document_as_a_whole() -> None:
    """DO-1, DO-2: the original byte for byte, and pieces of it with title, heading, path and tags."""
    text = "intro\r\n\r\n# A\r\n\r\ntext\r\n"
    found = projected(
        {
            "document": {
                "entity": {"key": "page:1"},
                "title": "Handbook",
                "text": text,
                "meta": '{"collection": "handbook", "n": 1.50}',
                "source_path": "docs/1.md",
            }
        }
    )
    [document] = found.documents
    assert (document.body, document.media_type) == (text, "text/markdown")
    assert "".join(passage.text for passage in document.passages) == text
    assert [(each.ordinal, each.title, each.heading) for each in document.passages] == [
        (0, "Handbook", ""),
        (1, "Handbook", "A"),
    ]
    assert {each.meta for each in document.passages} == {'{"collection":"handbook","n":1.50}'}
    assert {each.source_path for each in document.passages} == {"docs/1.md"}
    assert {each.owner_kind for each in document.passages} == {"page"}
    assert the_entity(found, "page:1").fields == {"title": "Handbook", "source_path": "docs/1.md"}


def test_document_in_chunks() -> None:
    """DO-1: cut by its caller, a blank chunk included; a chunk's tags go over the document's."""
    chunks = [
        {"text": "a", "heading": "H", "meta": '{"x": 2}'},
        {"text": " \n"},
        {"text": "b" * 32_768},
    ]
    assertion = {"entity": {"key": "page:1"}, "chunked": {"chunks": chunks}, "meta": '{"x": 1, "y": 1}'}
    [document] = projected({"document": assertion}).documents
    assert document.body is None
    assert [passage.text for passage in document.passages] == [chunk["text"] for chunk in chunks]
    assert [json.loads(passage.meta)["x"] for passage in document.passages] == [2, 1, 1]
    assert document.passages[0].heading == "H"
    assert [bool(passage.embedding_hash) for passage in document.passages] == [True, False, True]


def test_equal_texts_have_equal_hashes_however_they_came() -> None:
    """DO-4: whole or in chunks."""
    whole = projected({"document": {"entity": {"key": "a"}, "text": "ab"}}).documents[0]
    cut = projected(
        {"document": {"entity": {"key": "a"}, "chunked": {"chunks": [{"text": "a"}, {"text": "b"}]}}}
    ).documents[0]
    assert whole.content_hash == cut.content_hash


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "document.body"),
        ({"text": "x", "meta": "[]"}, "document.meta"),
        ({"text": "x", "meta": "{"}, "document.meta"),
        (
            {"chunked": {"chunks": [{"text": "a"}, {"text": "b", "meta": "1"}]}},
            "document.chunked.chunks[1].meta",
        ),
    ],
)
def test_documents_that_are_refused(fields: dict[str, Any], path: str) -> None:
    """OB-4: with the field's path."""
    [failure] = projected({"document": {"entity": {"key": "a"}, **fields}}).failures
    assert failure.field == f"assertions[0].{path}"


def test_a_document_shows_the_title_that_is_asserted_beside_it() -> None:
    """DO-3: one observation that describes an entity and gives its text."""
    found = projected(
        {"document": {"entity": {"key": "page:1"}, "text": "x"}}, entity(title="Handbook", kind="article")
    )
    [passage] = found.documents[0].passages
    assert (passage.title, passage.owner_kind) == ("Handbook", "article")
