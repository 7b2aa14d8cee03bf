"""Statements that may both be the first to name something go one after the other; others don't wait."""

import asyncio

from services.writer import first_mentions
from services.writer.first_mentions import FirstMentions

ALICE, BOB, CAROL = (("team", f"person:{name}") for name in ("alice", "bob", "carol"))


class Statements:
    """Statements that run until they are told to end, and what began so far."""

    def __init__(self) -> None:
        self.turns = FirstMentions()
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def start(self, name: str, *names, timeout_s: float | None = None) -> asyncio.Task:
        """A statement that names these; it has begun, or waits."""
        self._ends[name] = asyncio.Event()
        task = asyncio.create_task(self._run(name, frozenset(names), timeout_s))
        await settled()
        return task

    async def end(self, *names: str) -> None:
        """Lets statements end, and those behind them begin."""
        for name in names:
            self._ends[name].set()
        await settled()

    async def _run(self, name: str, names: frozenset, timeout_s: float | None) -> None:
        async with self.turns.in_turn(names, timeout_s=timeout_s) as written:
            self.begun.append(name)
            await self._ends[name].wait()
            if name.startswith("early"):
                written()
                await asyncio.Event().wait()


async def settled() -> None:
    """Whatever can go on without anybody's help has done so."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_names_the_same_waits_in_order_and_others_do_not() -> None:
    """Style, OB-3: of those that share a name each begins when the one before it has ended; the rest at once."""
    statements = Statements()
    tasks = [
        await statements.start("1", ALICE, BOB),
        await statements.start("2", BOB),
        await statements.start("3", BOB),
    ]
    tasks.append(await statements.start("4", CAROL))
    assert statements.begun == ["1", "4"]
    await statements.end("1")
    assert statements.begun == ["1", "4", "2"]
    await statements.end("2", "3", "4")
    await asyncio.gather(*tasks)
    assert statements.begun == ["1", "4", "2", "3"]


async def test_what_is_written_is_waited_for_no_longer() -> None:
    """Style: those who come after begin when the rows are there, whatever else the call ahead does with its connection,
    and side by side where they have nothing else in common."""
    statements = Statements()
    ahead = await statements.start("early", ALICE)
    behind = [await statements.start("2", ALICE), await statements.start("3", ALICE)]
    assert statements.begun == ["early"]
    await statements.end("early")
    assert sorted(statements.begun) == ["2", "3", "early"]
    await statements.end("2", "3")
    await asyncio.gather(*behind)
    assert not ahead.done()
    ahead.cancel()


async def test_what_is_known_to_be_there_is_no_first_mention(monkeypatch) -> None:
    """Style: those that name what was written lately run side by side, until it is forgotten for newer names."""
    monkeypatch.setattr(first_mentions, "_MOST_KNOWN", 1)
    statements = Statements()
    written = [await statements.start("early", ALICE)]
    await statements.end("early")
    tasks = [await statements.start("1", ALICE), await statements.start("2", ALICE)]
    assert statements.begun == ["early", "1", "2"]
    written.append(await statements.start("early, newer", BOB))
    await statements.end("early, newer", "1", "2")
    tasks += [await statements.start("3", ALICE), await statements.start("4", ALICE)]
    assert statements.begun == ["early", "1", "2", "early, newer", "3"]
    await statements.end("3", "4")
    await asyncio.gather(*tasks)
    for each in written:
        each.cancel()


async def test_who_leaves_is_not_waited_for() -> None:
    """OP-1: a call that is cancelled, waiting or at work, holds nobody up."""
    statements = Statements()
    first, second = await statements.start("1", ALICE), await statements.start("2", ALICE)
    third = await statements.start("3", ALICE)
    second.cancel()
    await settled()
    assert statements.begun == ["1"]
    first.cancel()
    await settled()
    assert statements.begun == ["1", "3"]
    await statements.end("3")
    await third


async def test_who_takes_long_and_who_has_no_time_ends_the_wait(monkeypatch) -> None:
    """OP-1: what waits at a lock holds others up for a while only, and nobody beyond its own deadline."""
    monkeypatch.setattr(first_mentions, "PATIENCE_S", 0.01)
    statements = Statements()
    tasks = [await statements.start("1", ALICE), await statements.start("2", ALICE)]
    async with asyncio.timeout(30):
        while statements.begun != ["1", "2"]:  # noqa: ASYNC110 - time has to pass
            await asyncio.sleep(0.01)
    monkeypatch.setattr(first_mentions, "PATIENCE_S", 60)
    tasks += [await statements.start("3", BOB), await statements.start("4", BOB, timeout_s=0)]
    async with asyncio.timeout(30):
        while "4" not in statements.begun:  # noqa: ASYNC110 - time has to pass
            await asyncio.sleep(0.01)
    await statements.end("1", "2", "3", "4")
    await asyncio.gather(*tasks)
