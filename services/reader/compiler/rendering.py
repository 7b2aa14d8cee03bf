"""A pack as text: numbered items with what a reader must know to weigh them, inside the marker."""

from __future__ import annotations

from services.reader.compiler.items import NO_LONGER_TRUE, Item
from services.reader.rows import CRITICAL, ItemKind, Origin, Status
from shared.intervals import interval, moment
from shared.pack_marker import harmless, wrap

BETWEEN_ITEMS = "\n"
# As long as a real one, so that the wrapper's length is known before the id is.
_ANY_PACK_ID = "pack-" + "0" * 24

# By numbers of DeltaState.
_DELTAS = {1: "new", 2: "changed", NO_LONGER_TRUE: "no longer true"}


def rendered_item(number: int, item: Item) -> str:
    """`[n] (marks) title: text {source}`."""
    marks = ", ".join(_marks(item))
    head = f"[{number}] " + (f"({marks}) " if marks else "")
    title = f"{item.title.removesuffix(':')}: " if item.title else ""
    citation = _citation(item)
    return harmless(head + title + item.text + (f" {{{citation}}}" if citation else ""))


def rendered_pack(pack_id: str, items: list[str]) -> str:
    """Rendered items inside the marker; empty without any."""
    return wrap(pack_id, BETWEEN_ITEMS.join(items)) if items else ""


def wrapper() -> str:
    """What stands around the items of any pack."""
    return wrap(_ANY_PACK_ID, "")


def _marks(item: Item) -> list[str]:
    marks = [_DELTAS[item.delta]] if item.delta else []
    if item.importance == CRITICAL:
        marks.append("critical")
    if item.is_hypothesis:
        marks.append(f"hypothesis, confidence {item.confidence:.2f}")
    if item.rivals:
        marks.append("contradicted by other facts")
    if item.status in (Status.STALE, Status.DRAFT):
        marks.append(Status(item.status).name.lower())
    # A fact's sentence has its interval already.
    held = interval(item.valid_from, item.valid_to) if item.kind != ItemKind.FACT else ""
    return [*marks, held] if held else marks


def _citation(item: Item) -> str:
    """The latest source, and how many there are besides."""
    if not item.provenance:
        return item.source_path
    latest = item.provenance[-1]
    others = len(item.provenance) - 1
    parts = (_address(item, latest), moment(latest.occurred_at), f"and {others} more" if others else "")
    return ", ".join(filter(None, parts))


def _address(item: Item, origin: Origin) -> str:
    system = f"{origin.system}/{origin.stream}" if origin.stream else origin.system
    where = origin.uri or item.source_path or origin.external_id
    return f"{system} {where}" if where else system
