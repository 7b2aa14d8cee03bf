"""The threads that models run in."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

# Queries and the database next door go first, and work that nobody looks at takes what they leave: a query beside
# saturating passages then takes hardly longer than alone. Of equals, three threads would share two cores.
NICENESS = 5


def thread(name: str, *, yields: bool = False) -> ThreadPoolExecutor:
    """Returns an executor with one thread; one that `yields` gives way to all others where the system allows it."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=name, initializer=give_way if yields else None)


def give_way() -> None:
    """Lowers the priority of the calling thread, for good."""
    # Elsewhere a priority is a whole process's.
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # From what it was: a process may have been started with less, and may not give itself more again.
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
