"""Requests that retain a text, as the observations that they are sugar for (DO-1)."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeAlias

from palimpsest import ids
from palimpsest.v1.document_pb2 import DocumentAssertion
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.reference_pb2 import SourceIdentity
from palimpsest.v1.writer_service_pb2 import (
    RetainArticleRequest,
    RetainArticleResponse,
    RetainDocumentRequest,
    RetainDocumentResponse,
)

from services.writer.messages import to_recorded
from services.writer.retaining import Retained, Text
from shared.errors import InvalidField, Violation
from shared.timestamps import from_datetime

RetainRequest: TypeAlias = RetainArticleRequest | RetainDocumentRequest

# What is written without a `source` comes from the API itself.
SYSTEM = "palimpsest"
_KIND = re.compile(r"[a-z0-9][a-z0-9_.-]{0,127}")
_DOCUMENT_KIND = "document"
_MOST_ALIASES, _ALIAS_CHARACTERS, _AUTHOR_BYTES, _ID_BYTES = 50, 512, 1024, 1000
# Members of an article's tags that are fields of its entity.
_NOT_ATTRIBUTES = frozenset({"title", "aliases"})


def retained_observation(request: RetainRequest, now: datetime) -> Observation:
    """The observation of a text; `now` is when it happened where the caller does not say. Raises InvalidField.

    An article of a vault says more of its entity: its tags are the front matter of a file.
    """
    text, body = _text_of(request)
    if text.WhichOneof("body") != body:
        field = "article.body" if body == "text" else "document.body"
        raise InvalidField([Violation(field, f"must be `{body}`")])
    observation = Observation(
        source=request.source if request.HasField("source") else SourceIdentity(system=SYSTEM),
        kind=_DOCUMENT_KIND,
        occurred_at=request.occurred_at if request.HasField("occurred_at") else from_datetime(now),
        scopes=request.scopes,
        assertions=[*_described(request), Assertion(document=text), *(Assertion(link=link) for link in request.links)],
    )
    if request.HasField("provenance"):
        observation.provenance.CopyFrom(request.provenance)
    return observation


def undated_id(request: RetainRequest) -> str | None:
    """The id of the observation where its caller names the event and not when it happened: then a retry is recognised,
    though each call has another `now`. None elsewhere."""
    if request.HasField("occurred_at") or not request.source.external_id:
        return None
    return ids.observation_id(request.namespace, request.source)


def to_text(request: RetainRequest) -> Text:
    """What the request retains."""
    return Text(
        namespace=request.namespace,
        entity_key=ids.entity_key(_text_of(request)[0].entity),
        undated_id=undated_id(request),
        vault_run_id=request.vault_run_id if isinstance(request, RetainArticleRequest) else "",
    )


def to_article_response(retained: Retained) -> RetainArticleResponse:
    """What became of an article."""
    return RetainArticleResponse(
        observation=to_recorded(retained.recorded, "observation"),
        chunk_count=retained.chunk_count,
        consistency_token=retained.token,
    )


def to_document_response(retained: Retained) -> RetainDocumentResponse:
    """What became of a document."""
    return RetainDocumentResponse(
        observation=to_recorded(retained.recorded, "observation"),
        chunk_count=retained.chunk_count,
        consistency_token=retained.token,
    )


def in_request(error: InvalidField) -> InvalidField:
    """An error about the observation as one about the request, which has its source and scopes at the top."""
    return InvalidField(
        [Violation(one.field.removeprefix("observation."), one.description, one.is_text) for one in error.violations]
    )


def _text_of(request: RetainRequest) -> tuple[DocumentAssertion, str]:
    """The text, and which body it has to have."""
    return (request.article, "text") if isinstance(request, RetainArticleRequest) else (request.document, "chunked")


def _described(request: RetainRequest) -> list[Assertion]:
    if isinstance(request, RetainArticleRequest) and request.vault_run_id:
        return [Assertion(entity=_vault_entity(request))]
    return []


def _vault_entity(request: RetainArticleRequest) -> EntityAssertion:
    article, tags = request.article, json.loads(request.article.meta or "{}")
    author = _text(tags, "author") or request.provenance.author
    path = article.source_path
    return EntityAssertion(
        entity=article.entity,
        kind=_kind(tags),
        title=article.title if article.HasField("title") else None,
        aliases=_aliases(tags),
        source_path=path or None,
        source_id=path if 0 < len(path.encode()) <= _ID_BYTES else None,
        author=author if 0 < len(author.encode()) <= _AUTHOR_BYTES else None,
        attributes=_attributes(tags) or None,
    )


def _kind(tags: Any) -> str:
    said = _text(tags, "kind") or _text(tags, "type")
    return said if _KIND.fullmatch(said) else _DOCUMENT_KIND


def _attributes(tags: Any) -> str:
    kept = {name: value for name, value in tags.items() if name not in _NOT_ATTRIBUTES} if _is_object(tags) else {}
    return json.dumps(kept, ensure_ascii=False) if kept else ""


def _aliases(tags: Any) -> list[str]:
    said = tags.get("aliases") if _is_object(tags) else None
    names = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return list(dict.fromkeys(_usable(names)))[:_MOST_ALIASES]


def _usable(names: list[Any]) -> Iterator[str]:
    texts = (name.strip() for name in names if isinstance(name, str))
    return (name for name in texts if 0 < len(name) <= _ALIAS_CHARACTERS)


def _text(tags: Any, name: str) -> str:
    value = tags.get(name) if _is_object(tags) else None
    return value.strip() if isinstance(value, str) else ""


def _is_object(tags: Any) -> bool:
    return isinstance(tags, dict)
