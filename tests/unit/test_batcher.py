"""EM-2: batches under a token budget, queries first, nothing run for nobody."""

import asyncio
import threading

import pytest

from services.embedder.batcher import Batcher
from shared.errors import DeadlineExceeded, QueueFull


class Gate:
    """Work that waits until it is let through, and remembers the batches."""

    def __init__(self):
        self.batches = []
        self.threads = set()
        self.entered = threading.Semaphore(0)
        self.passing = threading.Semaphore(0)

    def __call__(self, work):
        self.batches.append(list(work))
        self.threads.add(threading.current_thread())
        self.entered.release()
        assert self.passing.acquire(timeout=10)
        return [f"done {piece}" for piece in work]

    async def has_entered(self):
        assert await asyncio.to_thread(self.entered.acquire, timeout=10)

    def open(self):
        for _ in range(100):
            self.passing.release()


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open()


async def started(run, **changes):
    batcher = Batcher(run, **{"batch_tokens": 10, "queue_tokens": 1000} | changes)
    batcher.start()
    return batcher


async def submitted(batcher, work, tokens=10, **options):
    """Starts a caller and waits until its work is in the queue."""
    before = batcher.queued_tokens
    caller = asyncio.create_task(batcher.submit(work, tokens=[tokens] * len(work), **{"urgent": False} | options))
    while batcher.queued_tokens == before and not caller.done():  # noqa: ASYNC110 - one turn of the loop is all it takes
        await asyncio.sleep(0)
    return caller


async def test_results_come_in_the_order_of_the_work(gate):
    gate.open()
    batcher = await started(gate, batch_tokens=30)
    work, tokens = ["a", "b", "c", "d", "e"], [9, 1, 30, 2, 10]
    assert await batcher.submit(work, tokens=tokens, urgent=False) == [f"done {piece}" for piece in work]
    assert len(gate.batches) > 1
    await batcher.close()


async def test_callers_share_batches(gate):
    """EM-2: requests of many callers are batched together."""
    batcher = await started(gate, batch_tokens=100)
    first = await submitted(batcher, ["first"])
    await gate.has_entered()
    callers = [await submitted(batcher, [name]) for name in "abc"]
    gate.open()
    assert [await caller for caller in (first, *callers)] == [["done first"], ["done a"], ["done b"], ["done c"]]
    assert gate.batches == [["first"], ["a", "b", "c"]]
    await batcher.close()


async def test_the_event_loop_goes_on_while_the_model_works(gate):
    """EM-2: model code runs in one thread of its own."""
    batcher = await started(gate)
    caller = await submitted(batcher, ["a", "b"])
    await gate.has_entered()  # the model is held up in its thread, and this coroutine runs
    gate.open()
    await caller
    assert len(gate.threads) == 1
    assert threading.main_thread() not in gate.threads
    await batcher.close()


async def test_a_query_overtakes_passages_that_wait(gate):
    """EM-2: seen through the batcher."""
    batcher = await started(gate)
    callers = [await submitted(batcher, ["running"])]
    await gate.has_entered()
    callers.append(await submitted(batcher, ["passage 1", "passage 2"]))
    callers.append(await submitted(batcher, ["query"], urgent=True))
    gate.open()
    await asyncio.gather(*callers)
    assert gate.batches == [["running"], ["query"], ["passage 1"], ["passage 2"]]
    await batcher.close()


async def test_work_of_a_caller_that_has_gone_is_not_run(gate):
    """EM-2: cancelled calls cost nothing, and leave the queue at once."""
    batcher = await started(gate)
    first = await submitted(batcher, ["first"])
    await gate.has_entered()
    gone = await submitted(batcher, ["gone 1", "gone 2"])
    last = await submitted(batcher, ["last"])
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert batcher.queued_tokens == 10
    gate.open()
    await asyncio.gather(first, last)
    assert gate.batches == [["first"], ["last"]]
    await batcher.close()


async def test_work_whose_deadline_has_passed_is_not_run(gate):
    """EM-2: a late request is dropped unprocessed; those that wait beside it are not."""
    now = 100.0
    batcher = await started(gate, clock=lambda: now)
    first = await submitted(batcher, ["first"], deadline=101.0)
    await gate.has_entered()
    late = await submitted(batcher, ["late"], deadline=105.0)
    in_time = await submitted(batcher, ["in time"], deadline=106.0)
    now = 105.0
    gate.open()
    with pytest.raises(DeadlineExceeded):
        await late
    assert await in_time == ["done in time"]
    assert await first == ["done first"]
    assert gate.batches == [["first"], ["in time"]]
    assert batcher.queued_tokens == 0
    await batcher.close()


async def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(gate):
    """EM-2: RESOURCE_EXHAUSTED with a retry delay."""
    batcher = await started(gate, queue_tokens=50)
    callers = [await submitted(batcher, ["running"])]
    await gate.has_entered()
    callers.append(await submitted(batcher, ["large"], tokens=51))  # an empty queue takes any size
    with pytest.raises(QueueFull) as refusal:
        await batcher.submit(["one more"], tokens=[1], urgent=True)
    assert 0 < refusal.value.retry_after_s <= 30
    assert refusal.value.metadata == {"queue": "embed"}
    gate.open()
    await asyncio.gather(*callers)
    assert await batcher.submit(["one more"], tokens=[1], urgent=True) == ["done one more"]
    await batcher.close()


async def test_only_the_work_that_cannot_be_done_fails():
    """EM-4, fault 22: one bad item never fails its neighbours."""

    def run(work):
        if "bad" in work:
            raise RuntimeError("this one cannot be done")
        return [piece.upper() for piece in work]

    batcher = await started(run, batch_tokens=1000)
    results = await batcher.submit(["a", "bad", "b"], tokens=[1, 1, 1], urgent=False)
    assert results[0] == "A"
    assert isinstance(results[1], RuntimeError)
    assert results[2] == "B"
    assert await batcher.submit(["c"], tokens=[1], urgent=False) == ["C"]
    await batcher.close()


async def test_closing_finishes_the_batch_in_hand_and_lets_the_others_go(gate):
    batcher = await started(gate)
    running = await submitted(batcher, ["running"])
    await gate.has_entered()
    waiting = await submitted(batcher, ["waiting"])
    closing = asyncio.create_task(batcher.close())
    gate.open()
    await closing
    assert await running == ["done running"]
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert gate.batches == [["running"]]


async def test_a_query_is_run_beside_a_batch_under_way(gate):
    """EM-2: in a thread of its own, where the model can run two batches at once."""
    batcher = await started(gate, parallel_runs=2)
    callers = [await submitted(batcher, ["running"])]
    await gate.has_entered()
    callers.append(await submitted(batcher, ["waiting"]))
    callers.append(asyncio.create_task(batcher.submit(["query"], tokens=[1], urgent=True)))
    await gate.has_entered()
    assert gate.batches == [["running"], ["query"]]
    gate.open()
    await asyncio.gather(*callers)
    assert len(gate.threads) == 2
    await batcher.close()


async def test_what_cannot_be_prepared_fails_alone():
    """EM-4, fault 22: prepared ahead or not, one bad item never fails its neighbours."""

    def prepare(work):
        if "bad" in work:
            raise RuntimeError("this one cannot be prepared")
        return work

    batcher = await started(lambda work: [piece.upper() for piece in work], prepare=prepare, batch_tokens=3)
    results = await batcher.submit(["a", "b", "c", "d", "bad", "e", "bad", "f"], tokens=[1] * 8, urgent=False)
    assert [result if isinstance(result, str) else type(result) for result in results] == [
        *"ABCD", RuntimeError, "E", RuntimeError, "F",
    ]  # fmt: skip
    await batcher.close()


async def test_it_is_seen_when_it_takes_no_more_work():
    """OP-1: health asks for it; work that comes later is not lost without a word, but waits for its deadline."""

    def fail(_):
        raise RuntimeError("what measures has failed")

    batcher = await started(lambda work: work, on_batch=fail)
    caller = await submitted(batcher, ["a"])
    while batcher.is_running:  # noqa: ASYNC110 - it ends with the batch
        await asyncio.sleep(0)
    await batcher.close()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_what_was_run_is_measured(gate):
    """OP-3: fill without padding, the age of the oldest work, and what still waits."""
    now, runs = 0.0, []
    batcher = await started(gate, batch_tokens=40, clock=lambda: now, on_batch=runs.append)
    callers = [await submitted(batcher, ["running"])]
    await gate.has_entered()
    callers += [await submitted(batcher, ["old"]), await submitted(batcher, ["larger"], tokens=30)]
    now = 2.0
    gate.open()
    await asyncio.gather(*callers)
    assert [run.fill for run in runs] == [0.25, 0.25, 0.75]
    assert [run.queued_tokens for run in runs] == [40, 30, 0]
    assert [run.waited_s for run in runs] == [0.0, 2.0, 2.0]
    await batcher.close()
