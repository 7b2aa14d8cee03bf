"""Requests of the contract as the reader's own values."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.ids import entity_key, object_identity
from palimpsest.v1 import fact_pb2, retrieval_pb2

from services.reader.compiler.budget import Budget, Unit
from services.reader.pages import PageRequest
from services.reader.retrieval.retrieve import Query
from services.reader.retrieval.signals import Mode
from services.reader.rows import Filter
from shared.errors import InvalidField, NotImplementedYet, Violation
from shared.timestamps import to_datetime

# They say which state or page is meant, not what is asked.
_NOT_THE_QUERY = ("page_size", "page_token", "consistency_token")


def to_page_request(request: Any) -> PageRequest:
    """Which page is asked for; its token is bound to everything else in the request."""
    query = {"method": type(request).__name__, "request": as_text(request)}
    return PageRequest(size=request.page_size, token=request.page_token, query=query)


def as_text(request: Message) -> str:
    """A request as text, equal for equal questions."""
    question = type(request)()
    question.CopyFrom(request)
    for field in _NOT_THE_QUERY:
        if field in question.DESCRIPTOR.fields_by_name:
            question.ClearField(field)
    return question.SerializeToString(deterministic=True).hex()


def to_moment(at: retrieval_pb2.TimePoint, method: str) -> datetime | None:
    """The moment that is asked about; None is now. Raises NotImplementedYet for what the memory believed then."""
    if at.HasField("known_at"):
        raise NotImplementedYet(method)
    return _time(at.as_of, "at.as_of") if at.HasField("as_of") else None


def to_known_moment(at: retrieval_pb2.TimePoint) -> tuple[datetime | None, datetime | None]:
    """The moment that is asked about and the one up to which things were known; None is now."""
    known_at = _time(at.known_at, "at.known_at") if at.HasField("known_at") else None
    return _time(at.as_of, "at.as_of") if at.HasField("as_of") else None, known_at


def to_optional_time(request: Message, field: str, path: str = "") -> datetime | None:
    """A timestamp of a message, or None where it is absent. Raises InvalidField with its path."""
    return _time(getattr(request, field), path + field) if request.HasField(field) else None


def to_mode(mode: int) -> Mode:
    """Which signals are asked for."""
    return Mode(mode or Mode.FULL)


def to_query(request: Any, *, limit: int, keep_irrelevant: bool = False) -> Query:
    """What a search or a compilation seeks. Raises InvalidField, and NotImplementedYet for what was believed then."""
    return Query(
        text=request.query,
        mode=to_mode(request.mode),
        wanted=to_filter(request.filter, to_moment(request.at, "/palimpsest.v1.ReaderService/Search")),
        limit=limit,
        keep_irrelevant=keep_irrelevant,
        clock=to_clock(request.caller_time),
    )


def to_budget(budget: retrieval_pb2.Budget) -> Budget:
    """The budget, by default 2,800 characters."""
    match budget.WhichOneof("amount"):
        case "characters":
            return Budget(budget.characters, Unit.CHARACTERS)
        case "tokens":
            return Budget(budget.tokens, Unit.TOKENS)
    return Budget()


def to_filter(wanted: retrieval_pb2.SearchFilter, as_of: datetime | None) -> Filter:
    """What is searched, at which moment."""
    return Filter(
        labels=tuple(wanted.scopes),
        as_of=as_of,
        include_drafts=wanted.include_drafts,
        item_kinds=tuple(kind for kind in wanted.item_kinds if kind),
        entity_kinds=tuple(wanted.entity_kinds),
        source_systems=tuple(wanted.source_systems),
        occurred_from=to_optional_time(wanted, "occurred_from", "filter."),
        occurred_before=to_optional_time(wanted, "occurred_before", "filter."),
        entity_keys=tuple(map(entity_key, wanted.entities)),
        meta=json.dumps([_to_condition(condition) for condition in wanted.meta]),
    )


def to_object_identity(request: Any) -> tuple[str, str] | None:
    """Type and canonical text of the object that facts are asked for by. Raises InvalidField."""
    if not request.HasField("object"):
        return None
    value: fact_pb2.FactObject = request.object
    try:
        return object_identity(value)
    except ValueError as error:
        raise InvalidField([Violation("object", str(error))]) from None


def to_clock(caller_time: str) -> datetime | None:
    """The caller's time with its offset; None where it is not said.

    Raises InvalidField for a time that is not RFC 3339 with an offset: whose midnight it means would be a guess.
    """
    if not caller_time:
        return None
    try:
        clock = datetime.fromisoformat(caller_time)
    except ValueError:
        clock = datetime.min
    if clock.utcoffset() is None or "T" not in caller_time.upper().replace(" ", "T"):
        raise InvalidField([Violation("caller_time", "must be RFC 3339 with an offset, as 2026-03-01T00:30:00+03:00")])
    return clock


def _time(timestamp: Timestamp, path: str) -> datetime:
    try:
        return to_datetime(timestamp)
    except ValueError as error:
        raise InvalidField([Violation(path, str(error))]) from None


def _to_condition(condition: retrieval_pb2.MetaCondition) -> dict[str, Any]:
    match condition.WhichOneof("condition"):
        case "equals":
            return {"key": condition.key, "any_of": [condition.equals]}
        case "any_of":
            return {"key": condition.key, "any_of": list(condition.any_of.values)}
    within = condition.range
    # As text, which holds an infinite end too.
    return {
        "key": condition.key,
        "minimum": repr(within.minimum if within.HasField("minimum") else -math.inf),
        "maximum": repr(within.maximum if within.HasField("maximum") else math.inf),
    }
