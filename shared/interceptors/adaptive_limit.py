"""How many calls a service does at a time without keeping each of them for long, learned from its own latencies."""

from __future__ import annotations

import math
from collections import deque

# As in Envoy's gradient controller, of which this algorithm is: a step at most halves or doubles what is let in, and 50
# calls (`min_rtt_calc_params.request_count`) say what is usual.
_LEAST_GRADIENT, _GREATEST_GRADIENT = 0.5, 2.0
_KNOWN = 50
# Of a step. Envoy takes what ended in 100 ms, where thousands come a second.
_SAMPLES = 16


class AdaptiveLimit:
    """A number of places that follows latencies: the gradient controller of Envoy's adaptive concurrency filter.

    A step multiplies the number by (latency without load) / latency, and adds its square root as headroom: it grows as
    long as calls take no longer, and stays where they do. "Without load" is while no more than `fewest` are at work
    (`min_concurrency`), which is where an overload begins, and where the number returns when calls have become dearer:
    so it is measured anew whenever it no longer fits.

    What calls took is held against what those of the same methods would have taken, both in sum: how dear methods are
    tells nothing about load. Sums instead of medians (Envoy's), as half of the calls may be cheap and all of the load
    that of the others.
    """

    def __init__(self, fewest: int, most: int) -> None:
        self._fewest, self._most = fewest, most
        self.restart()

    def restart(self) -> None:
        """Begins anew: what is known is of another load."""
        self._limit = float(self._fewest)
        self._unloaded_s: dict[str, deque[float]] = {}
        self._took_s = self._usual_s = 0.0
        self._samples = 0

    @property
    def places(self) -> int:
        """At least `fewest`, at most `most`."""
        return int(self._limit)

    def observe(self, method: str, latency_s: float, *, crowd: int) -> None:
        """A call is done whose place others waited for. `crowd` is how many were at work, this one too."""
        if crowd <= self._fewest:
            self._unloaded_s.setdefault(method, deque(maxlen=_KNOWN)).append(latency_s)
        if known_s := self._unloaded_s.get(method):
            self._took_s += latency_s
            self._usual_s += sum(known_s) / len(known_s)
            self._samples += 1
        if self._samples == _SAMPLES:
            self._step()

    def _step(self) -> None:
        gradient = self._usual_s / max(self._took_s, 1e-6)
        kept = self._limit * min(max(gradient, _LEAST_GRADIENT), _GREATEST_GRADIENT)
        self._limit = min(max(kept + math.sqrt(kept), self._fewest), self._most)
        self._took_s = self._usual_s = 0.0
        self._samples = 0
