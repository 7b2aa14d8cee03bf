"""What is done once at the end of a turn of the event loop, for all that asked for it during the turn."""

import asyncio
from collections.abc import Callable


class EndOfTurn:
    """Work that several calls of one turn share: calls end in groups, as what they waited for does."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._due_on: asyncio.AbstractEventLoop | None = None

    def ask(self) -> bool:
        """Has the work done when the turn that is under way in this thread ends; False where none is."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._due_on is not loop:  # one that was closed before the end of its turn never does it
            self._due_on = loop
            loop.call_soon(self._end)
        return True

    def _end(self) -> None:
        self._due_on = None
        self._work()
