"""What a client was told, on disk: who reads it later knows what was acknowledged, whoever was killed meanwhile."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    """A file of lines, appended to by one process at a time. A line is written by one call of the system: a killed
    process leaves it whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def note(self, kind: str, **said: Any) -> None:
        """Appends a line."""
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._file, (json.dumps({"kind": kind, **said}) + "\n").encode())

    def entries(self, *kinds: str) -> Iterator[dict[str, Any]]:
        """The lines of some kinds, in order; all where none is named."""
        if not self._path.exists():
            return
        with self._path.open() as lines:
            for line in lines:
                entry = json.loads(line)
                if not kinds or entry["kind"] in kinds:
                    yield entry

    def done(self) -> int:
        """How many items are done: the number of the next one."""
        return max((entry["item"] + 1 for entry in self.entries("done")), default=0)
