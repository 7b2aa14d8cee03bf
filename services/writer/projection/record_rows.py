"""What every typed record becomes: an entity with its fields, links, and its text in passages."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from services.writer.projection.assertion_rows import AssertionRows
from services.writer.projection.context import Context
from services.writer.projection.link_assertion import DERIVED_FROM, MENTIONS, links_to
from services.writer.projection.messages import EntityRef
from services.writer.projection.passages import RECORD, passage_of
from services.writer.projection.references import named
from services.writer.projection.rows import EntityWrite, Passage
from shared.domain_packs.key_forms import default_kind

# A record is found and shown as one; the embedder averages the windows of a long one. Beyond this it is cut, because a
# tsvector holds no megabyte. Four bytes a character at most.
_PASSAGE_CHARS = 32_768


def record_key(kind: str, entity: EntityRef | None, context: Context, index: int, field: str) -> str:
    """Returns the key that is given, else `<kind>:<observation id>.<index>`. Raises `Refused`."""
    return f"{kind}:{context.observation_id}.{index}" if entity is None else context.key_of(entity, field)


def record_rows(
    context: Context,
    index: int,
    *,
    key: str,
    kind: str,
    fields: Mapping[str, Any],
    attributes: Mapping[str, Any],
    mentions: Sequence[str],
    derived_from: Sequence[str] = (),
    passages: tuple[Passage, ...],
) -> AssertionRows:
    """Returns the rows of a record. An attribute without a value is removed: the record is written as a whole."""
    stamp = context.stamp(index)
    entity = EntityWrite(
        key=key,
        stamp=stamp,
        default_kind=default_kind(key),
        fields={"kind": kind, **fields, **{f"attributes.{name}": _json(value) for name, value in attributes.items()}},
        described=True,
    )
    links = links_to(context, key, MENTIONS, mentions) + links_to(context, key, DERIVED_FROM, derived_from)
    others = dict.fromkeys(link.target_key for link in links)
    return AssertionRows(entities=(entity, *(named(other, stamp) for other in others)), links=links, passages=passages)


def record_passages(context: Context, text: str, **columns: Any) -> tuple[Passage, ...]:
    """Returns the passages of a record's text: one, unless it is very long."""
    starts = range(0, len(text), _PASSAGE_CHARS)
    return tuple(
        passage_of(context, kind=RECORD, ordinal=ordinal, text=text[start : start + _PASSAGE_CHARS], **columns)
        for ordinal, start in enumerate(starts)
    )


def keys_of(references: Iterable[EntityRef], context: Context, field: str) -> list[str]:
    """Returns the keys of repeated references. Raises `Refused`."""
    return [context.key_of(reference, f"{field}[{place}]") for place, reference in enumerate(references)]


def shown(moment: datetime | None) -> str:
    """Returns a moment as RFC 3339 in UTC; empty where there is none."""
    return moment.isoformat().replace("+00:00", "Z") if moment else ""


class RawJson(str):
    """A value that is JSON text already."""


def _json(value: Any) -> str:
    if isinstance(value, RawJson):
        return str(value)
    return "null" if value in ("", [], None) else json.dumps(value, ensure_ascii=False)
