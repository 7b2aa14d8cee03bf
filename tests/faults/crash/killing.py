"""Lets services and clients live, die and live again, till the plans are done; then lets them finish."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.crash.clients import Task
from tests.faults.crash.lives import Life
from tests.faults.crash.plan import AT_RANDOM, Aim, Plan
from tests.faults.crash.system import System

_FINISH_TIMEOUT_S = 180.0
_POLL_S = 0.2
_LOG_LINES = 5
_MOST_FAULTS = 20
_TOLD_EVERY = 50


@dataclass
class Toll:
    """Who died where, and what went wrong."""

    kills: Counter[str] = field(default_factory=Counter)
    """By the name of the point."""
    faults: list[str] = field(default_factory=list)
    tell: Callable[[str], None] = print
    """Hears of progress."""

    def died(self, point: str) -> None:
        """Counts a kill."""
        self.kills[point] += 1
        number = sum(self.kills.values())
        if number % _TOLD_EVERY == 0:
            self.tell(f"killed: {number}")

    def ended(self, name: str, life: Life, log: Path) -> None:
        """Notes a process that ended though nobody had killed it."""
        last = " / ".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
        self.faults.append(f"{name} ended by itself with {life.exit_status}: {last}")

    @property
    def is_hopeless(self) -> bool:
        """Whether so much is wrong that there is no point in going on."""
        return len(self.faults) > _MOST_FAULTS


class Killing:
    """One run: services that are killed by their plans, and clients that are killed by theirs."""

    def __init__(
        self,
        system: System,
        tasks: Mapping[str, tuple[Callable[[Task], None], Task]],
        service_plans: Mapping[str, Plan],
        client_plans: Mapping[str, Plan],
        toll: Toll,
    ) -> None:
        """Plans of services are by kind, those of clients by name; a client without one is not killed."""
        self.toll = toll
        self._system = system
        self._tasks = tasks
        self._service_plans = service_plans
        self._client_plans = client_plans
        self._steady: dict[str, Life] = {}
        self._left_alone = {name: threading.Event() for name in tasks}

    def run(self) -> dict[str, Life]:
        """Runs until the plans are done and each client has finished its item; answers the services, which live."""
        services = [threading.Thread(target=self._serve, args=(name,)) for name in self._system.names]
        clients = [threading.Thread(target=self._say, args=(name,)) for name in self._tasks]
        for thread in (*services, *clients):
            thread.start()
        for thread in services:
            thread.join()
        for event in self._left_alone.values():
            event.wait()
        for _, task in self._tasks.values():
            task.stop_file.touch()
        for thread in clients:
            thread.join()
        for name, life in self._steady.items():
            if life.wait(0):
                self.toll.ended(name, life, self._log(name))
        return self._steady

    def _serve(self, name: str) -> None:
        plan = self._service_plans[name.partition("-")[0]]
        while (aim := plan.take()) is not None and not self.toll.is_hopeless:
            self._let_die(name, self._system.life(name, aim.shot), aim, plan)
        self._steady[name] = self._system.life(name)

    def _say(self, name: str) -> None:
        work, task = self._tasks[name]
        plan = self._client_plans.get(name)
        while plan and not self.toll.is_hopeless and (aim := plan.take()) is not None:
            self._let_die(name, Life(work, task, log=self._log(name), shot=aim.shot), aim, plan)
        self._left_alone[name].set()
        while not self.toll.is_hopeless and not self._has_finished(name, Life(work, task, log=self._log(name)), task):
            pass

    def _has_finished(self, name: str, life: Life, task: Task) -> bool:
        """Whether a client did all that it was to do; it is given time after it was told to stop."""
        while not task.stop_file.exists() and not life.wait(_POLL_S):
            pass
        if not life.wait(_FINISH_TIMEOUT_S):
            life.kill()
            self.toll.faults.append(f"{name} did not finish")
            return True
        if life.exit_status != 0:
            self.toll.ended(name, life, self._log(name))
        return life.exit_status == 0

    def _let_die(self, name: str, life: Life, aim: Aim, plan: Plan) -> None:
        if life.wait(aim.after_s):
            if not life.was_killed:
                return self.toll.ended(name, life, self._log(name))
        elif life.kill():
            self.toll.died(AT_RANDOM)
            if aim.shot is not None:
                plan.missed(aim.shot)
            return None
        self.toll.died(aim.shot.point if aim.shot else AT_RANDOM)
        return None

    def _log(self, name: str) -> Path:
        return self._system.folder / f"{name}.log"
