"""Faults that users of memories have reported, put through a peer's own API, and what was seen.

Each fault has namespaces of its own. Texts are ours; what is right is said by the rule that a fault names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from bench.peers.peer import CannotBeAsked, Fact, Hit, Item, Peer

HOLDS, FAILS, CANNOT = "holds", "fails", "cannot be asked"


@dataclass(frozen=True)
class Outcome:
    """What a fault came to."""

    verdict: str
    seen: str
    gone: str = ""
    """A string that must be nowhere in the peer's files and tables by now; it is looked for from outside."""


@dataclass(frozen=True)
class Fault:
    """A fault; `put` never raises."""

    name: str
    rule: str
    what: str
    put: Callable[[Peer, Sequence[Item]], Awaitable[Outcome]]
    is_final: bool
    """Whether the store is of no use after it."""


FAULTS: dict[str, Fault] = {}
"""By name, in the order in which they are put; the texts that are given with them are stored by then."""

_Put = Callable[[Peer, Sequence[Item]], Awaitable[Outcome]]


def _fault(rule: str, what: str, *, is_final: bool = False) -> Callable[[_Put], _Put]:
    """Enters a function under its name."""

    def enter(put: _Put) -> _Put:
        async def guarded(peer: Peer, corpus: Sequence[Item]) -> Outcome:
            try:
                return await put(peer, corpus)
            except CannotBeAsked as reason:
                return Outcome(CANNOT, str(reason))
            except Exception as error:
                return Outcome(FAILS, f"an error: {_short(error)}")

        FAULTS[put.__name__] = Fault(put.__name__, rule, what, guarded, is_final)
        return put

    return enter


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:160]


def _judged(holds: bool, seen: str) -> Outcome:
    return Outcome(HOLDS if holds else FAILS, seen)


async def _filled(peer: Peer, *items: Item) -> None:
    for item in items:
        await peer.add(item)
    await peer.ready()


async def _refused(call: Awaitable[object]) -> str:
    """How a call was refused; empty where it was not."""
    try:
        await call
    except CannotBeAsked:
        raise
    except Exception as error:
        return _short(error)
    return ""


def _ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


@_fault("OB-3", "one item delivered three times")
async def delivered_again(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    item = Item("1", "again", "The retry limit of the gateway is five.")
    answers = [await _refused(peer.add(item)) for _ in range(3)]
    await peer.ready()
    kept = await peer.stored("again")
    found = await peer.search("again", item.text, 10)
    refusals = next((f"; later ones refused: {each}" for each in answers if each), "")
    return _judged(len(kept) == len(found) == 1, f"{len(kept)} kept, {len(found)} found{refusals}")


@_fault("OB-3", "one item delivered eight times at once")
async def delivered_at_once(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    item = Item("1", "at-once", "The staging cluster is rebuilt on Mondays.")
    answers = await asyncio.gather(*(_refused(peer.add(item)) for _ in range(8)))
    await peer.ready()
    kept, errors = await peer.stored("at-once"), [each for each in answers if each]
    told = f"; {len(errors)} calls failed: {errors[0]}" if errors else ""
    return _judged(len(kept) == 1 and not errors, f"{len(kept)} kept{told}")


@_fault("OB-6, OB-8", "a batch of three, the second with NUL in its text")
async def one_bad_of_three(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    if not peer.batches:
        raise CannotBeAsked("no call takes several items")
    texts = ("The first good one.", "A NUL\x00 in the middle.", "The third good one.")
    refused = await _refused(peer.add_many([Item(str(place), "bad", text) for place, text in enumerate(texts)]))
    await peer.ready()
    kept = {hit.id: hit.text for hit in await peer.stored("bad")}
    good, bad = len({"0", "2"} & kept.keys()), kept.get("1")
    told = (
        f"the bad one refused: {refused}"
        if refused
        else "the bad one taken, " + ("whole" if bad == texts[1] else "changed")
    )
    return _judged(good == 2 and (bool(refused) or bad == texts[1]), f"{good} of the 2 good ones kept, {told}")


@_fault("OB-8", "text with marks of direction, zero-width characters and letters in parts")
async def text_kept(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    text = "pass\u200bword \u202eabc\u202c cafe\u0301 и\u0306 \u00ad end  "
    await _filled(peer, Item("1", "kept", text))
    kept = [hit.text for hit in await peer.stored("kept")]
    return _judged(kept == [text], "as it was sent" if kept == [text] else f"came back as {ascii(kept)[:120]}")


@_fault("OB-8", "structured data with an integer above 2^53 and a string of digits")
async def numbers_kept(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    data = {"number": 9007199254740993, "version": "2024_123", "mixed": [1, "1"]}
    await _filled(peer, Item("1", "numbers", "An item with data.", data=data))
    [kept] = [hit.data for hit in await peer.stored("numbers")]
    came = {name: kept.get(name) for name in data}
    return _judged(came == data, "as it was sent" if came == data else f"came back as {came}"[:160])


@_fault("NS-1", "tenants named team-a:prod/1, O'Brien, 50%_off, Команда")
async def odd_tenants(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    names, wrong = ("team-a:prod/1", "O'Brien", "50%_off", "Команда"), []
    for name in names:
        item = Item("1", name, f"The budget of {name} was approved.")
        refused = await _refused(_filled(peer, item))
        found = [] if refused else _ids(await peer.search(name, item.text, 10))
        if found != ["1"]:
            wrong.append(f"{name}: {refused or found}")
    return _judged(not wrong, "; ".join(wrong)[:200] or "each finds its own")


@_fault("NS-1", "a tenant whose name another's begins with, or resembles: team-a asks beside team-ab; a_b beside axb")
async def neighbouring_tenants(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    pairs, seen = (("team-a", "team-ab"), ("a_b", "axb"), ("Case", "case")), []
    for asking, other in pairs:
        secret = f"The launch code of {other} is kept in the red safe."
        await _filled(peer, Item("own", asking, "Lunch is at noon."), Item("secret", other, secret))
        hits = await peer.search(asking, secret, 10)
        if any(hit.text == secret or hit.id == "secret" for hit in hits):
            seen.append(f"{asking} is told what {other} said")
    return _judged(not seen, "; ".join(seen) or "nothing is told")


@_fault("RE-1", "a query full of operators: foo-bar AND (x !\" ' OR 1=1 --")
async def operators(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    await _filled(peer, Item("1", "operators", "The foo-bar adapter was replaced."))
    found = _ids(await peer.search("operators", "foo-bar AND (x !\" ' OR 1=1 -- : * & | <->", 10))
    return _judged(found == ["1"], f"{len(found)} found")


@_fault("RE-2", "a tenant with ten items beside one with many; ten are asked for")
async def few_beside_many(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    chosen = corpus[:: max(1, len(corpus) // 10)][:10]
    few = [replace(item, id=f"few-{place}", namespace="few") for place, item in enumerate(chosen)]
    await _filled(peer, *few)
    # The nearest are others': a walk through the index meets theirs first.
    found = _ids(await peer.search("few", corpus[7].said, 10))
    return _judged(set(found) == {item.id for item in few}, f"{len(found)} of {len(few)} found")


@_fault("RE-1", "an identifier in one of sixty items that mean the same")
async def identifier(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    items = [Item(str(number), "invoices", f"Invoice INV-{number} was paid in full.") for number in range(77100, 77160)]
    await _filled(peer, *items)
    found = _ids(await peer.search("invoices", "INV-77123", 10))
    place = found.index("77123") + 1 if "77123" in found else None
    return _judged(place == 1, f"in place {place}" if place else "not among the first ten")


@_fault("RE-1", "«серверы упали» sought by words alone as «падение сервера», «server crashed» as «servers crash»")
async def word_forms(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    await _filled(
        peer,
        Item("ru", "forms", "Ночью серверы упали, дежурный поднял их к утру."),
        Item("en", "forms", "A server crashed at night."),
        Item("other", "forms", "Отпуск согласован до пятницы."),
    )
    asked = {"ru": "падение сервера", "en": "servers crash"}
    missed = [name for name, text in asked.items() if name not in _ids(await peer.search_words("forms", text, 3))]
    return _judged(not missed, f"not found: {', '.join(missed)}" if missed else "both found")


@_fault("RE-4", "nonsense, and a question foreign to all that is stored; the peer's own threshold")
async def nonsense(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    asked = ("zxqv blorp", "Which kernel parameter limits open file descriptors per process?")
    found = [len(await peer.search(corpus[0].namespace, text, 10, relevant=True)) for text in asked]
    return _judged(not any(found), f"{found[0]} and {found[1]} hits")


@_fault("RE-1", "a query of 20,000 characters, with a known text at its beginning")
async def long_query(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    known = corpus[3]
    query = (known.said + " " + "and then something else happened " * 700)[:20_000]
    found = _ids(await peer.search(known.namespace, query, 10))
    return _judged(
        bool(found), f"{len(found)} found, the known one {'among' if known.id in found else 'not among'} them"
    )


@_fault("DO-2, RE-1", "a text of 20,000 characters whose last sentence answers, beside twenty others")
async def end_of_a_long_text(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    filler = " ".join(f"Paragraph {number} tells of weather in the valley." for number in range(500))[:20_000]
    answer = "The spare key of the observatory hangs behind the boiler."
    others = [replace(item, id=f"other-{place}", namespace="long") for place, item in enumerate(corpus[:20])]
    refused = await _refused(_filled(peer, Item("long", "long", f"{filler}. {answer}"), *others))
    if refused:
        return _judged(False, f"refused: {refused}")
    found = _ids(await peer.search("long", "Where does the spare key of the observatory hang?", 10))
    place = list(dict.fromkeys(found)).index("long") + 1 if "long" in found else None
    return _judged(place == 1, f"in place {place}" if place else "not among the first ten")


@_fault("EM-4", "items of no text and of white space beside a good one")
async def empty_text(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    refused = [await _refused(peer.add(Item(str(place), "empty", text))) for place, text in enumerate(("", "   "))]
    await _filled(peer, Item("good", "empty", "The good one is here."))
    found = _ids(await peer.search("empty", "Where is the good one?", 10))
    told = f"refused: {refused[0]}" if all(refused) else "taken"
    empty = [each for each in found if each != "good"]
    return _judged(found == ["good"], f"{told}; {len(empty)} empty hits beside the good one" if empty else told)


@_fault("FA-7, EN-5", "a value is replaced; then it is asked for in the old value's words")
async def newer_value(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    await _moved(peer, "newer")
    hits = await peer.search("newer", "Alice works at Initech", 10)
    old = [hit.text for hit in hits if "Initech" in hit.text]
    new = any("Globex" in hit.text for hit in hits)
    return _judged(
        new and not old, "the old value is told" if old else "the new one alone" if new else "neither is told"
    )


@_fault("FA-10", "what was true before a value was replaced")
async def as_of(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    await _moved(peer, "as-of")
    before = await peer.as_of("as-of", "Alice", "works at", "2025-01-01T00:00:00Z")
    after = await peer.as_of("as-of", "Alice", "works at", "2026-01-01T00:00:00Z")
    return _judged((before, after) == (["Initech"], ["Globex"]), f"before {before}, after {after}")


async def _moved(peer: Peer, namespace: str) -> None:
    await peer.state(namespace, Fact("Alice", "works at", "Initech", "2024-06-01T00:00:00Z"))
    await peer.state(namespace, Fact("Alice", "works at", "Globex", "2025-06-01T00:00:00Z"))
    await peer.ready()


@_fault("AU-2, AU-3", "an item is deleted; it is looked for by the API, and in all tables, vectors and files")
async def deleted(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    canary = "zebraquartz71"
    item = Item("canary", "deleted", f"The word of the day is {canary}.")
    await _filled(peer, item, Item("other", "deleted", "Another item stays."))
    await peer.delete("deleted", "canary")
    await peer.ready()
    found = await peer.search("deleted", item.text, 10)
    told = [hit for hit in [*found, *await peer.stored("deleted")] if canary in hit.text]
    if told:
        return _judged(False, "it is still told")
    return Outcome(HOLDS, "it is told no more", gone=canary)


@_fault("EM-4", "the store is opened with another model of the same dimension", is_final=True)
async def other_model(peer: Peer, corpus: Sequence[Item]) -> Outcome:
    item = Item("old", "models", "The archive is kept in the north wing.")
    await _filled(peer, item)
    refused = await _refused(peer.change_model())
    if refused:
        return _judged(True, f"refused: {refused}")
    await peer.add(Item("new", "models", "The new archive is kept in the south wing."))
    refused = await _refused(peer.search("models", "where is the archive?", 10))
    told = refused or ", ".join(peer.notes)
    return _judged(bool(told), told or "vectors of both are compared, and nothing says so")
