"""Folders of benchmark data: `docs.jsonl.gz`, `queries.jsonl.gz`, and event streams, as values and as observations."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1 import document_pb2, entity_pb2, link_pb2, observation_pb2, reference_pb2

# Documents without a time of their own: any fixed moment does, so that loading twice is the same content.
UNDATED = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Question:
    """A question with the ids of the documents that answer it."""

    id: str
    namespace: str
    text: str
    category: str
    answerable: bool
    relevant: frozenset[str] = field(default_factory=frozenset)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a gzipped JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def questions(folder: Path) -> list[Question]:
    """The questions of a folder, in the order of the file."""
    return [
        Question(
            row["id"], row["namespace"], row["text"], str(row.get("category", "")), row["answerable"],
            frozenset(row["relevant"]),
        )
        for row in lines(folder / "queries.jsonl.gz")
    ]  # fmt: skip


def documents(folder: Path) -> Iterator[tuple[str, observation_pb2.Observation]]:
    """(namespace, observation) of each document; the observation's external id is the document's id."""
    for row in lines(folder / "docs.jsonl.gz"):
        yield row["namespace"], _document(folder.name, row)


def _document(system: str, row: dict[str, Any]) -> observation_pb2.Observation:
    observation = observation_pb2.Observation(
        source=reference_pb2.SourceIdentity(system=system, stream=row.get("group", ""), external_id=row["id"]),
        kind="message" if "author" in row else "document",
        occurred_at=_timestamp(row.get("time")),
    )
    if "author" in row:
        observation.actor.type, observation.actor.id = "person", row["author"]
    text = row["text"] + (f" [photo: {row['caption']}]" if row.get("caption") else "")
    if row.get("title"):
        observation.assertions.add().document.CopyFrom(
            document_pb2.DocumentAssertion(entity=_key(f"doc:{row['id']}"), title=row["title"], text=text)
        )
    else:
        observation.content = text
    return observation


def events(folder: Path) -> Iterator[observation_pb2.Observation]:
    """The observations of an event folder: commits in order, then webhooks."""
    for row in lines(folder / "commits.jsonl.gz"):
        yield _commit(row)
    for row in lines(folder / "github_webhooks.jsonl.gz"):
        yield _webhook(row)


def _commit(row: dict[str, Any]) -> observation_pb2.Observation:
    sha = row["id"].partition("@")[2]
    key = f"commit:{sha}"
    observation = observation_pb2.Observation(
        source=reference_pb2.SourceIdentity(system="git", stream=row["source"], external_id=row["id"]),
        kind="commit",
        occurred_at=_timestamp(row["committed_at"]),
        actor=reference_pb2.TypedId(type="person", id=row["author"]),
        subject=reference_pb2.TypedId(type="commit", id=sha),
        content=row["subject"] + (f"\n\n{row['body']}" if row.get("body") else ""),
    )
    observation.assertions.add().entity.CopyFrom(
        entity_pb2.EntityAssertion(
            entity=_key(key), title=row["subject"], author=row["author"], source_id=sha,
            source_created_at=_timestamp(row["authored_at"]), attributes=json.dumps({"files": row["n_files"]}),
        )
    )  # fmt: skip
    targets = [("CHILD_OF", f"commit:{parent}") for parent in row["parents"]]
    targets += [("MENTIONS", f"file:{name.partition(' ')[2]}") for name in row["files"]]
    for relation, target in dict.fromkeys(targets):
        link = link_pb2.LinkAssertion(source=_key(key), relation=relation, entity=_key(target))
        observation.assertions.add().link.CopyFrom(link)
    return observation


def _webhook(row: dict[str, Any]) -> observation_pb2.Observation:
    payload = row["payload"] if isinstance(row["payload"], dict) else {"items": row["payload"]}
    observation = observation_pb2.Observation(
        source=reference_pb2.SourceIdentity(
            system="github", stream=row["event"], external_id=f"{row['event']}/{row['name']}"
        ),
        kind=f"github.{row['event']}",
        occurred_at=_timestamp(None),
        data=json.dumps(payload, ensure_ascii=False),
    )
    if isinstance(sender := payload.get("sender"), dict) and sender.get("login"):
        observation.actor.type, observation.actor.id = "person", sender["login"]
    if isinstance(repository := payload.get("repository"), dict) and repository.get("full_name"):
        observation.subject.type, observation.subject.id = "repository", repository["full_name"]
    return observation


def _key(key: str) -> reference_pb2.EntityRef:
    return reference_pb2.EntityRef(key=key)


def _timestamp(text: str | None) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime.fromisoformat(text) if text else UNDATED)
    return stamp
