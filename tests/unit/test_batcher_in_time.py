"""EM-2: what a batcher does in time, whatever comes when: simulated, so that every moment is exact."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.embedder.batch_queue import URGENT_BATCHES_IN_A_ROW
from services.embedder.batcher import Batcher
from shared.errors import DeadlineExceeded, QueueFull
from tests.unit.simulated_time import SimulatedThread, simulated

BATCH_S, TOKEN_S, PREPARING_S = 0.004, 0.001, 0.0005
# Sums of the same moments in another order differ by less.
INSTANT_S = 1e-8


@dataclass(frozen=True)
class Ask:
    """A request that somebody makes."""

    at: float
    sizes: tuple[int, ...]
    caller: str = "a"
    urgent: bool = False
    late_after: float | None = None
    gone_after: float | None = None


@dataclass(frozen=True)
class Piece:
    request: int
    index: int
    tokens: int


@dataclass
class Run:
    """A batch that was run."""

    began: float
    ended: float
    thread: str
    pieces: list[Piece]


@dataclass
class World:
    """A batcher in simulated time: its threads, what they ran, and how the requests ended."""

    batch_tokens: int
    parallel_runs: int
    queue_tokens: int = 10**6
    runs: list[Run] = field(default_factory=list)
    prepared: list[float] = field(default_factory=list)
    outcomes: dict[int, object] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    threads: list[str] = field(default_factory=list)

    def live(self, asks):
        simulated(self._live(asks))
        return self

    async def _live(self, asks):
        loop = asyncio.get_running_loop()
        batcher = Batcher(
            lambda pieces: [("vector", piece) for piece in pieces],
            prepare=list,
            batch_tokens=self.batch_tokens,
            queue_tokens=self.queue_tokens,
            parallel_runs=self.parallel_runs,
            clock=loop.time,
            executor=self._thread,
        )
        batcher.start()
        await asyncio.gather(*(self._ask(batcher, number, ask) for number, ask in enumerate(asks)))
        assert batcher.queued_tokens == 0
        assert batcher.is_running

    def _thread(self, name, *, yields=False):
        if "prepare" in name:
            return SimulatedThread(self._preparing_s)
        thread = f"{name} {len(self.threads)}"
        self.threads.append(thread)
        return SimulatedThread(lambda work, prepared: self._running_s(thread, work, prepared))

    def _preparing_s(self, work):
        self.prepared.append(asyncio.get_running_loop().time())
        return PREPARING_S * len(work)

    def _running_s(self, thread, work, prepared):
        assert prepared is None or prepared == work
        began = asyncio.get_running_loop().time()
        took = BATCH_S + TOKEN_S * max(piece.tokens for piece in work) * len(work)
        self.runs.append(Run(began, began + took, thread, work))
        return took

    async def _ask(self, batcher, number, ask):
        loop = asyncio.get_running_loop()
        await asyncio.sleep(ask.at)
        pieces = [Piece(number, index, tokens) for index, tokens in enumerate(ask.sizes)]
        deadline = None if ask.late_after is None else ask.at + ask.late_after
        call = asyncio.create_task(
            batcher.submit(pieces, tokens=ask.sizes, urgent=ask.urgent, deadline=deadline, caller=ask.caller)
        )
        if ask.gone_after is not None:
            loop.call_later(ask.gone_after, call.cancel)
        try:
            self.outcomes[number] = await call
        except (DeadlineExceeded, QueueFull, asyncio.CancelledError) as error:
            self.outcomes[number] = error
        self.ended[number] = loop.time()


MOMENTS = st.integers(0, 400).map(lambda tick: tick / 1000)
ASKS = st.lists(
    st.builds(
        Ask,
        at=MOMENTS,
        sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8).map(tuple),
        caller=st.sampled_from("abc"),
        urgent=st.booleans(),
        late_after=st.none() | MOMENTS,
        gone_after=st.none() | MOMENTS,
    ),
    max_size=25,
)
BUDGETS, PARALLEL = st.integers(20, 200), st.integers(1, 4)


@settings(deadline=None, max_examples=60)
@given(ASKS, BUDGETS, PARALLEL)
def test_each_piece_is_run_once_or_nobody_waits_for_it_any_more(asks, budget, parallel):
    """EM-2: nothing is lost or done twice, and nothing is begun for who has gone or is late."""
    world = World(budget, parallel).live(asks)
    times = Counter(piece for run in world.runs for piece in run.pieces)
    assert not times or max(times.values()) == 1
    for number, ask in enumerate(asks):
        outcome = world.outcomes[number]
        if isinstance(outcome, list):
            mine = [Piece(number, index, tokens) for index, tokens in enumerate(ask.sizes)]
            assert outcome == [("vector", piece) for piece in mine]
        elif isinstance(outcome, DeadlineExceeded):
            assert world.ended[number] >= ask.at + ask.late_after
        else:
            assert world.ended[number] == pytest.approx(ask.at + ask.gone_after)
    for run in world.runs:
        for piece in run.pieces:
            ask = asks[piece.request]
            assert ask.late_after is None or run.began < ask.at + ask.late_after
            assert ask.gone_after is None or run.began <= ask.at + ask.gone_after


@settings(deadline=None, max_examples=60)
@given(ASKS, BUDGETS, PARALLEL)
def test_batches_keep_to_the_budget_the_lanes_and_the_threads(asks, budget, parallel):
    """EM-2: a token budget, queries by themselves, and no more at once than the model can run."""
    world = World(budget, parallel).live(asks)
    for run in world.runs:
        assert len(run.pieces) == 1 or max(piece.tokens for piece in run.pieces) * len(run.pieces) <= budget
        lanes = {asks[piece.request].urgent for piece in run.pieces}
        assert len(lanes) == 1
        assert "urgent" not in run.thread or lanes == {True}
        under_way = [other.thread for other in world.runs if other.began <= run.began < other.ended - INSTANT_S]
        assert len(set(under_way)) == len(under_way) <= parallel


@settings(deadline=None, max_examples=60)
@given(ASKS, BUDGETS, PARALLEL)
def test_nothing_waits_while_a_thread_that_could_run_it_is_idle(asks, budget, parallel):
    """EM-2: a query waits for queries alone where there is a thread for them, passages for all threads but that."""
    world = World(budget, parallel).live(asks)
    for run in world.runs:
        for piece in run.pieces:
            ask = asks[piece.request]
            able = [name for name in world.threads if ask.urgent or "urgent" not in name]
            if ask.urgent and parallel > 1:
                able = [name for name in able if "urgent" in name]
            for name in able:
                busy = sum(
                    max(0.0, min(other.ended, run.began) - max(other.began, ask.at))
                    for other in world.runs
                    if other.thread == name
                )
                # What is prepared when a thread comes free makes it wait; it is soon done.
                assert run.began - ask.at - busy <= PREPARING_S * budget + INSTANT_S


def steady(count, every, sizes, **options):
    return [Ask(at=0.5 + every * number, sizes=sizes, **options) for number in range(count)]


@settings(deadline=None, max_examples=15)
@given(st.integers(5, 20), st.integers(50, 400), st.integers(1, 12))
def test_a_query_beside_endless_passages_takes_about_twice_its_own_time(query, budget, passage):
    """EM-2: where nothing runs queries apart, batches last no longer than a query does while queries come."""
    queries = steady(40, 0.05, (query,), urgent=True)
    endless = Ask(at=0, sizes=(passage,) * (3600 // passage), caller="hog")
    world = World(budget, parallel_runs=1).live([endless, *queries])
    own = BATCH_S + TOKEN_S * query
    # The first queries find large batches under way, tell how long a query takes, and have to catch up.
    taken = [world.ended[number] - queries[number - 1].at for number in range(31, 41)]
    assert max(taken) <= 2 * own + BATCH_S + TOKEN_S * passage


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 4), st.integers(50, 400))
def test_a_query_beside_endless_passages_does_not_wait_where_it_is_run_apart(parallel, budget):
    """EM-2: it takes its own time."""
    queries = steady(20, 0.05, (10,), urgent=True)
    world = World(budget, parallel).live([Ask(at=0, sizes=(9,) * 600, caller="hog"), *queries])
    for number, ask in enumerate(queries, 1):
        assert world.ended[number] - ask.at == pytest.approx(BATCH_S + TOKEN_S * 10)


def test_passages_come_in_full_batches_again_when_queries_have_stopped():
    """EM-2: the rate of passages suffers no longer than need be."""
    queries = steady(20, 0.05, (10,), urgent=True)
    world = World(400, parallel_runs=1).live([Ask(at=0, sizes=(10,) * 400, caller="hog"), *queries])
    sizes = [len(run.pieces) for run in world.runs if run.pieces[0].request == 0]
    assert (sizes[0], min(sizes), sizes[-2]) == (40, 1, 40)
    assert sizes.count(40) >= 4


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 4), st.integers(100, 300))
def test_ten_texts_of_one_wait_for_a_batch_or_two_of_anothers_thousands(parallel, budget):
    """EM-2: the one under way, and the one that was prepared meanwhile."""
    few = Ask(at=0.3, sizes=(10,) * 10, caller="few")
    world = World(budget, parallel).live([Ask(at=0, sizes=(10,) * 400, caller="hog"), few])
    batch_s = BATCH_S + TOKEN_S * budget
    assert world.ended[1] - few.at <= 3 * batch_s


def test_a_full_batch_is_prepared_while_another_is_run():
    """EM-2: and where there is not enough for one, what comes meanwhile may still join it."""
    world = World(100, parallel_runs=1).live([Ask(at=0, sizes=(10,) * 25)])
    assert [len(run.pieces) for run in world.runs] == [10, 10, 5]
    assert world.prepared == [world.runs[0].began]
    assert world.runs[1].began == world.runs[0].ended


def test_a_query_overtakes_what_is_prepared():
    """EM-2: what is prepared is run after it, and is not prepared again."""
    query = Ask(at=0.01, sizes=(10,), urgent=True)
    world = World(100, parallel_runs=1).live([Ask(at=0, sizes=(10,) * 20), query])
    assert [[piece.request for piece in run.pieces] for run in world.runs] == [[0] * 10, [1], [0] * 10]
    assert len(world.prepared) == 1


def test_queries_without_an_end_delay_passages_but_do_not_stop_them():
    """EM-2: where the model runs one batch at a time, a passage waits for so many batches of queries and no more."""
    queries = [Ask(at=0, sizes=(100,), caller=str(number), urgent=True) for number in range(60)]
    world = World(100, parallel_runs=1).live([*queries, Ask(at=0.001, sizes=(10,))])
    places = [place for place, run in enumerate(world.runs) if run.pieces[0].request == len(queries)]
    assert places == [URGENT_BATCHES_IN_A_ROW]


def test_who_has_gone_is_taken_out_of_what_is_prepared():
    """EM-2: and the rest of the batch is run."""
    asks = [Ask(at=0, sizes=(10,) * 10), Ask(at=0, sizes=(10,) * 5, gone_after=0.02), Ask(at=0, sizes=(10,) * 5)]
    world = World(100, parallel_runs=1).live(asks)
    assert world.prepared == [0]
    assert [[piece.request for piece in run.pieces] for run in world.runs] == [[0] * 10, [2] * 5]


def test_a_refusal_says_how_long_the_work_before_takes():
    """EM-2: RESOURCE_EXHAUSTED with a delay, from the measured speed: after it there is room."""
    asks = [Ask(at=0, sizes=(10,) * 50), Ask(at=0.5, sizes=(10,) * 100), Ask(at=0.7, sizes=(10,) * 60)]
    refused = World(100, parallel_runs=1, queue_tokens=1000).live(asks).outcomes[2]
    assert isinstance(refused, QueueFull)
    asks.append(Ask(at=0.7 + refused.retry_after_s, sizes=(10,) * 60))
    assert isinstance(World(100, parallel_runs=1, queue_tokens=1000).live(asks).outcomes[3], list)
