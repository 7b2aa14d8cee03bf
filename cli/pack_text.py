"""A pack as text for a terminal: as it is given to a model, then what it rests on."""

from collections.abc import Iterator

from palimpsest.v1.reader_service_pb2 import CompileContextResponse
from palimpsest.v1.retrieval_pb2 import ContextPack, PackItem

from cli.output import INDENT, note, say, say_table, say_verbatim, when
from cli.wording import QUERY_CUT, degradations, kind_name, marks, scores, source_name, why_empty


def show_pack(response: CompileContextResponse, *, with_scores: bool = False, since: str = "") -> None:
    """Prints a pack and its provenance, and on wish how each item was found; or why there is none."""
    for line in degradations(response.degraded):
        note(line, "yellow")
    if response.query_truncated:
        note(QUERY_CUT, "yellow")
    pack = response.pack
    if pack.items:
        say_verbatim(pack.rendered)
        say("")
        say_table(("#", "kind", "observation", "when", "from"), _provenance(pack), title="Provenance")
    else:
        say(why_no_pack(response, since), "bold")
    if with_scores:
        _show_scores(pack)
    say(_summary(response), "dim")


def why_no_pack(response: CompileContextResponse, since: str) -> str:
    """One line on why a pack is empty."""
    if since and not response.abstention:
        return f"Nothing is new, changed or no longer true since {since}."
    return why_empty(response.abstention, response.relevance)


def rivals(pack: ContextPack, item: PackItem) -> Iterator[tuple[str, int]]:
    """The facts that contradict an item, each with its number in the pack; 0 where it is not in."""
    numbers = {other.item_id: other.number for other in pack.items}
    for fact_id in item.rival_fact_ids:
        yield fact_id, numbers.get(fact_id, 0)


def _show_scores(pack: ContextPack) -> None:
    for item in pack.items:
        _show_item(pack, item)
    if pack.omitted:
        say("")
        say(f"Did not fit ({pack.omitted_count}):", "bold")
        for item_id in pack.omitted:
            say(f"{INDENT}{item_id}")


def _show_item(pack: ContextPack, item: PackItem) -> None:
    say("")
    say(f"[{item.number}] {item.score:.3f}  {kind_name(item.kind)}  {item.item_id}", "bold")
    if told := marks(item):
        say(f"{INDENT}{', '.join(told)}", "yellow" if item.conflict or item.hypothesis else "")
    if against := [f"[{number}] {fact_id}" if number else fact_id for fact_id, number in rivals(pack, item)]:
        say(f"{INDENT}against {', '.join(against)}", "yellow")
    say(f"{INDENT}{scores(item.signals) or 'not found by itself'}", "dim")


def _summary(response: CompileContextResponse) -> str:
    pack = response.pack
    omitted = f"; {pack.omitted_count} more did not fit" if pack.omitted_count else ""
    trace = f"; trace {response.trace_id}" if response.trace_id else ""
    return f"{pack.pack_id}: {len(pack.items)} items, {pack.characters:,} characters{omitted}{trace}"


def _provenance(pack: ContextPack) -> Iterator[tuple[str, ...]]:
    for item in pack.items:
        for link in item.provenance:
            event = link.uri or link.source.external_id
            source = f"{source_name(link)} {event}".strip()
            yield (str(item.number), kind_name(item.kind), link.observation_id, when(link.occurred_at), source)
