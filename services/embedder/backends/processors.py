"""How many threads a model gets."""

import os

_THREADS_MAX = 8


def automatic_threads() -> int:
    """Returns the processors that this process may use, up to 8: beyond, small batches gain nothing."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _THREADS_MAX)
    return min(os.cpu_count() or 1, _THREADS_MAX)
