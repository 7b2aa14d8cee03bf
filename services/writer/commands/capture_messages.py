"""CaptureMessages: turns of a conversation, as evidence of what allowed authors said (CP-1 to CP-3)."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from palimpsest.canonical import nfc

from services.writer.applier import Applier
from services.writer.capture.cleaning import Cleaned, cleaned
from services.writer.capture.memory_blocks import pack_ids
from services.writer.capture.packs_told import PacksTold
from services.writer.capture.store import CaptureStore
from services.writer.capture.told_packs import ToldPacks
from services.writer.commands.batch_record_observations import apply_good
from services.writer.extraction.store import ExtractionStore
from services.writer.mark_store import Operator
from services.writer.namespace_store import NamespaceStore
from services.writer.projection.packs import Packs
from services.writer.recording import Item, Outcome, PreparedObservation, Recorded
from shared.consistency_token import Position, encode
from shared.database import Connection, Database
from shared.errors import NotFound, ObservationConflict, PalimpsestError

T = TypeVar("T")

# What takes less than a change of threads or little more.
_QUICKLY_CLEANED = 4_096


@dataclass(frozen=True, slots=True)
class Turn:
    """A message that meets its limits. `path` leads to it in the request; `author`: a key, empty where unknown."""

    path: str
    text: str
    author: str = ""
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """What became of a message; `cleaned` is absent where it was refused unseen."""

    cleaned: Cleaned | None = None
    observation_id: str = ""
    duplicate: bool = False
    queued: bool = False
    is_evidence: bool = False
    empty: bool = False
    error: PalimpsestError | None = None


@dataclass(frozen=True, slots=True)
class Capturing:
    """How messages are captured in a namespace. `observe` makes a turn's observation, by its place, and raises
    InvalidField; `derive` makes of one what packs find in it; `text_hash` reads out of a stored one what its text was.
    """

    namespace: str
    caller: Operator
    packs_told: PacksTold
    tags: Collection[str]
    observe: Callable[[int, Cleaned, bool], PreparedObservation]
    derive: Callable[[PreparedObservation, Packs], list[PreparedObservation]]
    text_hash: Callable[[bytes], str]
    queues: bool


async def capture_messages(
    database: Database,
    applier: Applier,
    capturing: Capturing,
    turns: Sequence[Turn | PalimpsestError],
    *,
    timeout_s: float | None,
) -> tuple[list[Captured], str]:
    """What became of each message, in order, and a token by which reads see them.

    Raises what transactions raise: then none of them is stored.
    """
    async with database.connection(timeout_s) as connection:
        authors = await _authors(connection, capturing.namespace)
        packs = await _packs(connection, capturing, turns)
    captured, items = await _in_turn(turns, lambda: _prepared(capturing, turns, packs, authors))
    outcomes, position = await _apply(database, applier, capturing, captured, items, timeout_s)
    told = dict(zip(items, outcomes, strict=True))
    again = await _known_again(database, capturing, captured, told, timeout_s)
    evidence = [item for place, item in items.items() if captured[place].is_evidence and _is_stored(told[place])]
    position = await _derive(database, applier, capturing, turns, evidence, timeout_s) or position
    done = [_done(one, again.get(place, told.get(place)), capturing) for place, one in enumerate(captured)]
    return done, encode(position)


async def _authors(connection: Connection, namespace: str) -> frozenset[str]:
    """Keys of the authors whose messages are evidence."""
    settings = await NamespaceStore(connection).latest_settings(namespace)
    return frozenset(nfc(author) for author in json.loads(settings.settings).get("capture_authors", ()))


async def _packs(connection: Connection, capturing: Capturing, turns: Sequence[Turn | PalimpsestError]) -> ToldPacks:
    named = {pack_id for turn in turns if isinstance(turn, Turn) for pack_id in pack_ids(turn.text)}
    return await capturing.packs_told.for_caller(connection, capturing.namespace, capturing.caller, named)


async def _in_turn(turns: Sequence[Turn | PalimpsestError], work: Callable[[], T]) -> T:
    """What `work` answers, which takes time by the length of the texts: of long ones in a thread."""
    size = sum(len(turn.text) for turn in turns if isinstance(turn, Turn))
    return work() if size <= _QUICKLY_CLEANED else await asyncio.to_thread(work)


def _prepared(
    capturing: Capturing, turns: Sequence[Turn | PalimpsestError], packs: ToldPacks, authors: Collection[str]
) -> tuple[list[Captured], dict[int, Item]]:
    captured = [_captured(turn, packs, capturing.tags, authors) for turn in turns]
    return captured, {place: _item(capturing, place, one) for place, one in enumerate(captured) if _is_kept(one)}


def _captured(
    turn: Turn | PalimpsestError, packs: ToldPacks, tags: Collection[str], authors: Collection[str]
) -> Captured:
    if isinstance(turn, PalimpsestError):
        return Captured(error=turn)
    left = cleaned(turn.text, packs, tags)
    # Whoever's account a bot uses: its words are not that person's (CP-1).
    is_evidence = turn.author in authors and not turn.is_bot
    return Captured(left, is_evidence=is_evidence, empty=not left.text)


def _is_kept(captured: Captured) -> bool:
    return captured.error is None and not captured.empty


def _item(capturing: Capturing, place: int, captured: Captured) -> Item:
    assert captured.cleaned is not None
    try:
        return capturing.observe(place, captured.cleaned, captured.is_evidence)
    except PalimpsestError as error:
        return error


async def _apply(
    database: Database,
    applier: Applier,
    capturing: Capturing,
    captured: Sequence[Captured],
    items: Mapping[int, Item],
    timeout_s: float | None,
) -> tuple[list[Outcome], Position]:
    """Stores the messages, and queues those that are evidence with them."""
    evidence = {
        item.observation_id
        for place, item in items.items()
        if isinstance(item, PreparedObservation) and captured[place].is_evidence
    }

    async def queue(connection: Connection, outcomes: Sequence[Outcome]) -> None:
        fresh = {each.observation_id for each in outcomes if isinstance(each, Recorded) and not each.duplicate}
        await ExtractionStore(connection).enqueue(capturing.namespace, sorted(fresh & evidence))

    also = queue if capturing.queues and evidence else None
    return await apply_good(database, applier, list(items.values()), timeout_s, also=also)


async def _derive(
    database: Database,
    applier: Applier,
    capturing: Capturing,
    turns: Sequence[Turn | PalimpsestError],
    evidence: Sequence[Item],
    timeout_s: float | None,
) -> Position | None:
    """Stores what packs find in messages that are evidence; answers where reads see it, None where nothing was found.

    For duplicates too: a call that was broken off before is made whole when it comes again. What was found of a message
    under other packs stays.
    """
    packs = (await applier.packs.acting_in([capturing.namespace], timeout_s=timeout_s))[capturing.namespace]
    if not packs.enabled:
        return None
    found = await _in_turn(turns, lambda: _found(capturing, evidence, packs))
    if not found:
        return None

    async def note(connection: Connection, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Recorded) and not outcome.duplicate:
                source_id, _ = found[outcome.observation_id]
                if not await ExtractionStore(connection).derive(capturing.namespace, source_id, outcome.observation_id):
                    raise NotFound("observation")

    derived = [item for _, item in found.values()]
    return (await apply_good(database, applier, derived, timeout_s, also=note))[1]


def _found(capturing: Capturing, evidence: Sequence[Item], packs: Packs) -> dict[str, tuple[str, PreparedObservation]]:
    """By id what packs find in messages, each with the id of its message."""
    return {
        derived.observation_id: (item.observation_id, derived)
        for item in evidence
        if isinstance(item, PreparedObservation)
        for derived in capturing.derive(item, packs)
    }


def _is_stored(outcome: Outcome) -> bool:
    return isinstance(outcome, Recorded)


async def _known_again(
    database: Database,
    capturing: Capturing,
    captured: Sequence[Captured],
    told: Mapping[int, Outcome],
    timeout_s: float | None,
) -> dict[int, Recorded]:
    """Messages that are stored with what was left of them then: what they were sent as is the same."""
    conflicts = {
        place: outcome.metadata["observation_id"]
        for place, outcome in told.items()
        if isinstance(outcome, ObservationConflict)
    }
    if not conflicts:
        return {}
    async with database.connection(timeout_s) as connection:
        rows = await CaptureStore(connection, capturing.namespace).stored_messages(set(conflicts.values()))
    found: dict[int, Recorded] = {}
    for place, observation_id in conflicts.items():
        row, now = rows.get(observation_id), captured[place].cleaned
        # After redaction nobody knows any more what it was: it stays redacted.
        if row and now and capturing.text_hash(row["message"]) in ("", now.text_hash):
            found[place] = Recorded(observation_id, True, row["status"], (), row["recorded_at"])
    return found


def _done(captured: Captured, outcome: Outcome | None, capturing: Capturing) -> Captured:
    if outcome is None:
        return captured
    if isinstance(outcome, PalimpsestError):
        return replace(captured, error=outcome)
    queued = capturing.queues and captured.is_evidence and not outcome.duplicate
    return replace(captured, observation_id=outcome.observation_id, duplicate=outcome.duplicate, queued=queued)
