"""EM-2: the threads of passages give way to those of queries."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from services.embedder.model_threads import NICENESS, thread

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority is a whole process's")


def niceness() -> int:
    """Of the calling thread."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_threads_give_way_to_the_rest_of_the_process() -> None:
    """EM-2: to what the process was started with, which may be less than usual, and then must not be raised."""
    with ThreadPoolExecutor(1) as starter:

        def of_both() -> list[int]:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 7)
            executors = [thread("query"), thread("passage", yields=True)]
            found = [each.submit(niceness).result(timeout=10) for each in executors]
            for each in executors:
                each.shutdown()
            return found

        assert starter.submit(of_both).result(timeout=10) == [7, 7 + NICENESS]
