"""Changes as messages of the contract."""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.v1 import reader_service_pb2 as pb
from palimpsest.v1.retrieval_pb2 import Change

from services.reader.messages import enum_value, to_entity, to_fact, to_observation
from services.reader.queries.watch import Sent
from services.reader.watch.told import Kind, Told
from services.reader.watch.wanted import Wanted
from shared.timestamps import from_datetime

_MOST_BYTES = 4 * 1024 * 1024


def to_wanted(request: pb.WatchRequest) -> Wanted:
    """What a request asks for."""
    return Wanted.of(request.item_kinds, request.scopes)


def to_responses(sent: Sent) -> Iterator[pb.WatchResponse]:
    """What is sent at once, in messages of a bounded size; where there are no changes, one with its position."""
    changes: list[Change] = []
    size = 0
    for told in sent.told:
        change: Change = told.shared(sent.origin, lambda each: _to_change(each, sent.cursor_behind(each)))
        if changes and size + change.ByteSize() > _MOST_BYTES:
            yield pb.WatchResponse(changes=changes, cursor=changes[-1].cursor)
            changes, size = [], 0
        changes.append(change)
        size += change.ByteSize()
    yield pb.WatchResponse(changes=changes, cursor=sent.cursor)


def _to_change(told: Told, cursor: str) -> Change:
    found = told.found
    change = Change(
        cursor=cursor,
        type=enum_value(told.happened),
        committed_at=from_datetime(found.position.moment),
        item_id="" if found.is_erased_key else found.item_key,
        erased_key_hash=found.item_key if found.is_erased_key else "",
        item_kind=enum_value(told.item_kind),
    )
    if told.row is None:
        return change
    if told.kind is Kind.OBSERVATION:
        change.observation.CopyFrom(to_observation(told.row))
    elif told.kind is Kind.ENTITY:
        change.entity.CopyFrom(to_entity(told.row))
    else:
        change.fact.CopyFrom(to_fact(told.row))
    return change
