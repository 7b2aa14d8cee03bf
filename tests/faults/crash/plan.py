"""Which process dies where: every named point in turn, and a share at random moments."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random

from tests.faults.crash.dying import Shot
from tests.faults.crash.points import Point

_RANDOM_SHARE = 0.25
_MOST_MISSES = 3
AT_RANDOM = "at a random moment"


@dataclass(frozen=True)
class Aim:
    """How a process is to die: by the shot, or, where there is none or it is not reached, after so many seconds."""

    after_s: float
    shot: Shot | None = None


class Plan:
    """The kills of processes of one kind. Several threads may take from it."""

    def __init__(
        self, points: Sequence[Point], kills: int, chosen: Random, *, patience_s: float, lasts_s: float
    ) -> None:
        self._chosen, self._patience_s, self._lasts_s = chosen, patience_s, lasts_s
        self._lock = threading.Lock()
        self._misses: dict[str, int] = {}
        aimed = kills - int(kills * _RANDOM_SHARE) if points else 0
        turns = islice(cycle(points), aimed)
        shots = [Shot(point.name, chosen.randint(1, point.passages)) for point in turns]
        self._waiting: deque[Shot | None] = deque([*shots, *[None] * (kills - aimed)])
        chosen.shuffle(self._waiting)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to take."""
        return not self._waiting

    def take(self) -> Aim | None:
        """The next one; None where all is done."""
        with self._lock:
            if not self._waiting:
                return None
            shot = self._waiting.popleft()
            if shot is None:
                return Aim(self._chosen.uniform(0.0, self._lasts_s))
            return Aim(self._patience_s * 2 ** self._misses.get(shot.point, 0), shot)

    def missed(self, shot: Shot) -> None:
        """The process did not come by, and was killed at another moment: its turn comes again, in the place of a kill
        at random, at the first passage, and it is waited for longer."""
        with self._lock:
            self._misses[shot.point] = self._misses.get(shot.point, 0) + 1
            if self._misses[shot.point] <= _MOST_MISSES and None in self._waiting:
                self._waiting.remove(None)
                self._waiting.append(Shot(shot.point, 1))
