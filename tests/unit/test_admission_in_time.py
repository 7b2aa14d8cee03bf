"""OP-1: whom a service lets in, in simulated time: a service with two processors whose calls all want them at once."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from load.measures import percentile
from shared.errors import QueueFull
from shared.interceptors.admission import UNPOOLED, Admission, Bounds
from shared.interceptors.backlog import Backlog
from shared.interceptors.call import Call
from shared.resting import resting
from tests.unit.simulated_time import simulated

PROCESSORS, SLICES = 2, 2
# A turn of the event loop, and by how much each call that is worked on lengthens it; gRPC hands a call over in five.
TURN_S, LONGER_S, TURNS = 0.00005, 0.001, 5
COST_S = 0.04
CAPACITY = PROCESSORS / COST_S
POOL = Bounds.of_pool(10)


@dataclass
class World:
    """A service, and how the calls to it ended."""

    bounds: Bounds = POOL
    processors: float = PROCESSORS
    is_slow: bool = False
    """Whether handing calls over takes time, the more the more is worked on."""
    received: int = 0
    at_work: int = 0
    most_at_work: int = 0
    accepted: list[tuple[float, float]] = field(default_factory=list)
    """Of each that was answered: when it came, and how long it took."""
    refused: list[tuple[float, float]] = field(default_factory=list)

    def live(self, life):
        simulated(self._live(life))
        return self

    async def _live(self, life):
        clock = asyncio.get_running_loop().time
        self.backlog = Backlog(lambda: self.received, clock)
        self.admission = Admission(self.bounds, self.backlog, clock)
        self.handing_over = asyncio.Lock()
        await life(self)
        assert self.at_work == 0

    async def call(self, cost_s=COST_S, method="search"):
        """Whether it was answered."""
        clock = asyncio.get_running_loop().time
        came = clock()
        self.received += 1
        if self.is_slow:
            async with self.handing_over:  # one after the other
                for _ in range(TURNS):
                    await asyncio.sleep(TURN_S + LONGER_S * self.at_work)
        self.backlog.hand_over()
        try:
            async with self.admission.admitted(Call(method, None, is_streaming=False)):
                await self.work(cost_s)
        except QueueFull:
            self.refused.append((came, clock() - came))
            return False
        self.accepted.append((came, clock() - came))
        return True

    async def work(self, cost_s):
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            for _ in range(SLICES):
                await asyncio.sleep(cost_s / SLICES * max(1.0, self.at_work / self.processors))
        finally:
            self.at_work -= 1

    async def client(self, until, wait_s=0.5):
        """Calls one after the other; comes again after a refusal when it was told to."""
        while asyncio.get_running_loop().time() < until:
            if not await self.call():
                await asyncio.sleep(wait_s)

    async def clients(self, number, seconds):
        until = asyncio.get_running_loop().time() + seconds
        await asyncio.gather(*(self.client(until) for _ in range(number)))

    async def open_loop(self, per_second, seconds):
        """Calls that wait for nobody's answer."""
        calls = []
        for _ in range(round(per_second * seconds)):
            calls.append(asyncio.create_task(self.call()))
            await asyncio.sleep(1 / per_second)
        await asyncio.gather(*calls)

    def took(self, share, since=0.0):
        return percentile([took for came, took in self.accepted if came >= since], share)


def base(**options):
    """What four clients see."""
    world = World(**options).live(lambda world: world.clients(4, 5))
    return world.took(0.5), world.took(0.95)


@pytest.mark.parametrize("factor", [5, 10, 20])
def test_in_an_overload_what_is_let_in_is_answered_as_ever(factor):
    """OP-1: for as long as it goes on, while the service does as much as it can, and others are refused at once."""
    p50, p95 = base()
    world = World().live(lambda world: world.open_loop(factor * CAPACITY, 20))
    assert world.took(0.5) <= 3 * p50
    assert world.took(0.95) <= 5 * p95
    assert len(world.accepted) >= 0.9 * 20 * CAPACITY
    assert percentile([took for _, took in world.refused], 0.95) == 0


@pytest.mark.parametrize("factor", [5, 10])
def test_what_waits_inside_grpc_is_as_soon_answered(factor):
    """OP-1: what is worked on keeps gRPC from handing calls over, until far more wait there than are let in. They are
    refused as soon, and what is let in has not waited there for long."""
    p50, p95 = base(is_slow=True)
    world = World(is_slow=True).live(lambda world: world.open_loop(factor * CAPACITY, 20))
    assert world.took(0.5) <= 3 * p50
    assert world.took(0.95) <= 5 * p95
    assert len(world.accepted) >= 0.6 * 20 * CAPACITY
    assert percentile([took for _, took in world.refused], 0.95) <= 5 * p95


def test_calls_that_grpc_drops_are_not_waited_for():
    """OP-1: it hands them over never; those who come after a storm of them find as much room as ever."""

    async def life(world):
        storm = asyncio.create_task(world.open_loop(10 * CAPACITY, 5))
        await asyncio.sleep(1)
        world.received += 5_000
        await storm
        await world.open_loop(0.8 * CAPACITY, 20)

    world = World(is_slow=True).live(life)
    assert max(came for came, _ in world.refused) <= 5 + 10


@pytest.mark.parametrize("number", [8, 16, 32, 64])
def test_clients_that_wait_for_their_answers_are_no_overload(number):
    """OP-1: however many wait for how long, and nothing is lost by it."""
    world = World().live(lambda world: world.clients(number, 20))
    assert not world.refused
    assert len(world.accepted) >= 20 * CAPACITY


@pytest.mark.parametrize("number", [64, POOL.most])
def test_a_burst_is_let_in_whole(number):
    """OP-1: it drains."""
    world = World().live(lambda world: asyncio.gather(*(world.call() for _ in range(number))))
    assert not world.refused


def test_bursts_that_drain_are_no_overload_however_many_there_are():
    """OP-1: of each, as many are let in as there is room for, and none is refused for those who are too many."""

    async def life(world):
        for _ in range(3):
            await asyncio.gather(*(world.call() for _ in range(POOL.most + 20)))

    world = World().live(life)
    assert (len(world.accepted), len(world.refused)) == (3 * POOL.most, 3 * 20)


def test_calls_that_do_not_slow_each_other_have_all_places_in_an_overload():
    """OP-1: a service whose calls wait for a database elsewhere does as much as without."""
    world = World(processors=1_000).live(lambda world: world.open_loop(3 * POOL.places / COST_S, 5))
    assert len(world.accepted) >= 0.75 * 5 * POOL.places / COST_S


def test_those_who_come_again_after_an_overload_are_soon_let_in():
    """OP-1: clients that are refused and come again, as they are told, keep no overload alive."""

    async def life(world):
        after = asyncio.create_task(world.clients(32, 40))
        await world.open_loop(10 * CAPACITY, 20)
        world.refused.clear()
        await after

    world = World().live(life)
    assert max((came for came, _ in world.refused), default=0) <= 20 + 10
    assert median(took for came, took in world.accepted if came > 30) == pytest.approx(32 / CAPACITY, rel=0.25)


def test_a_small_overload_is_one():
    """OP-1: twice of what is done in time: most are answered as ever, though room is made again and again."""
    p50, _ = base()
    world = World().live(lambda world: world.open_loop(2 * CAPACITY, 60))
    assert world.took(0.5, since=10) <= 3 * p50
    assert len(world.accepted) >= 0.95 * 60 * CAPACITY


@dataclass(frozen=True)
class Ask:
    """A call that somebody makes."""

    at: float
    takes: float
    rests: float = 0.0
    gone_after: float | None = None


TICKS = st.integers(0, 300).map(lambda tick: tick / 100)
ASKS = st.lists(
    st.builds(Ask, at=TICKS, takes=TICKS, rests=st.just(0.0) | TICKS, gone_after=st.none() | TICKS), max_size=60
)
BOUNDS = st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 12)).map(
    lambda found: Bounds(sum(found), found[0] + found[1], found[0])
)


@given(ASKS, BOUNDS)
@settings(max_examples=100)
def test_no_place_is_lost_and_none_is_given_twice(asks, bounds):
    """OP-1: whoever comes, rests and goes when: calls begin in the order in which they came, no more than there are
    places for; in the end there is room for as many as at the beginning."""
    ends, came, begun = Counter(), [], []

    async def ask(world, number, each):
        async def call():
            came.append(number)
            async with world.admission.admitted(Call("any", None, is_streaming=False)):
                begun.append(number)
                world.at_work += 1
                assert world.at_work <= bounds.places or any(other.rests for other in asks)
                try:
                    await asyncio.sleep(each.takes)
                finally:
                    world.at_work -= 1
                if each.rests:
                    with resting():
                        await asyncio.sleep(each.rests)

        await asyncio.sleep(each.at)
        task = asyncio.create_task(call())
        if each.gone_after is not None:
            asyncio.get_running_loop().call_later(each.gone_after, task.cancel)
        try:
            await task
            ends["answered"] += 1
        except (QueueFull, asyncio.CancelledError) as error:
            ends[type(error).__name__] += 1

    async def life(world):
        await asyncio.gather(*(ask(world, number, each) for number, each in enumerate(asks)))
        assert ends.total() == len(asks)
        assert begun == sorted(begun, key=came.index)
        await asyncio.sleep(20)
        world.most_at_work = 0
        await asyncio.gather(*(world.call() for _ in range(bounds.most + 1)))

    world = World(bounds).live(life)
    assert (len(world.accepted), len(world.refused)) == (bounds.most, 1)
    assert world.most_at_work == bounds.places


def test_whoever_goes_before_its_turn_makes_room_at_once():
    """OP-1: by its deadline or by itself."""

    async def life(world):
        for _ in range(3):
            at_work, *waiting = (asyncio.create_task(world.call()) for _ in range(world.bounds.most))
            await asyncio.sleep(COST_S / 4)
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert all(each.cancelled() for each in waiting)
            others = [asyncio.create_task(world.call()) for _ in waiting]
            assert all(await asyncio.gather(at_work, *others))

    World(Bounds(most=3, places=1, fewest=1)).live(life)


def test_a_place_that_comes_when_its_call_has_gone_is_the_next_ones():
    """OP-1: however close together."""

    async def life(world):
        async def first():
            async with world.admission.admitted(Call("any", None, is_streaming=False)):
                await asyncio.sleep(1)
            second.cancel()

        leading = asyncio.create_task(first())
        await asyncio.sleep(0)
        second, third = (asyncio.create_task(world.call()) for _ in range(2))
        await asyncio.gather(leading, second, return_exceptions=True)
        assert second.cancelled()
        assert await third

    World(Bounds(most=3, places=1, fewest=1)).live(life)


def test_a_service_that_bounds_its_work_itself_has_all_at_work():
    """OP-1: of the embedder only what takes memory is bounded."""
    world = World(UNPOOLED).live(lambda world: asyncio.gather(*(world.call() for _ in range(UNPOOLED.most + 1))))
    assert (world.most_at_work, len(world.refused)) == (UNPOOLED.most, 1)


def test_a_service_that_bounds_its_work_itself_holds_nothing_back():
    """OP-1, EM-2: calls that come without a gap do not wait for its end: other threads work on them than the loop's."""

    async def life(world):
        calls = []
        for _ in range(1000):
            calls.append(asyncio.create_task(world.call(COST_S)))
            await asyncio.sleep(0.0005)
        await asyncio.gather(*calls)

    world = World(UNPOOLED, processors=10**6).live(life)
    assert [took for _, took in world.accepted] == pytest.approx([COST_S] * 1000)
