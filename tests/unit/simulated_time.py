"""Time that passes only where nothing else is left to do: a loop, and executors whose work takes as long as is said."""

import asyncio
from concurrent.futures import Executor, Future


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next moment at which something is due."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def time(self):
        return self.now

    def _run_once(self):
        if not self._ready:
            due = min((each.when() for each in self._scheduled if not each.cancelled()), default=None)
            if due is None:
                raise AssertionError("nothing will ever happen any more")
            self.now = max(self.now, due)
        super()._run_once()


def simulated(main):
    """Runs a coroutine in simulated time and returns what it returns."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)


class SimulatedThread(Executor):
    """One thread. `seconds` says of the arguments of a call how long it takes; its effect comes at its end."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._free_at = 0.0

    def submit(self, function, /, *arguments):
        future, loop = Future(), asyncio.get_running_loop()
        self._free_at = max(self._free_at, loop.time()) + self._seconds(*arguments)
        loop.call_at(self._free_at, lambda: future.set_result(function(*arguments)))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass
