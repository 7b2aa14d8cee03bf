"""A file that is read again when it changes, so that nothing has to be restarted for it."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from prometheus_client import Counter, Gauge

from shared.telemetry import registry

T = TypeVar("T")
_Signature: TypeAlias = tuple[int, int, int, int]

_log = logging.getLogger(__name__)

CHECKED_EVERY_S = 1.0

reads = Counter(
    "palimpsest_watched_file_reads",
    "Times that a file of credentials or grants was read anew, by whether it was taken.",
    ["file", "outcome"],
    registry=registry,
)
is_stale = Gauge(
    "palimpsest_watched_file_stale",
    "1 while a file of credentials or grants is not what is in force: it is broken, or gone.",
    ["file"],
    registry=registry,
)


class WatchedFile(Generic[T]):
    """What a file says. A new version that cannot be read leaves the former one in force, and is complained of.

    It is looked at when it is asked for, once a second at most. What tells a new version is the file that the path
    leads to, so a link that is turned to another file, as Kubernetes does with what it mounts, is one.
    """

    def __init__(
        self, path: Path, parse: Callable[[bytes], T], *, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Reads the file. Raises OSError, and ValueError where `parse` refuses it; the message names the file."""
        self._path, self._parse, self._name, self._clock = path, parse, name, clock
        self._checked_at = clock()
        self._signature: _Signature | None = _signature(path)
        try:
            self._value = parse(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        is_stale.labels(name).set(0)

    def current(self) -> T:
        """What is in force."""
        now = self._clock()
        if now - self._checked_at >= CHECKED_EVERY_S:
            self._checked_at = now
            self._look()
        return self._value

    def _look(self) -> None:
        # Before it is read: what changes in between is seen the next time.
        signature = _signature_or_none(self._path)
        if signature == self._signature:
            return
        self._signature = signature
        try:
            self._value = self._parse(self._path.read_bytes())
        except (OSError, ValueError) as error:
            # Of an OSError the name of the cause alone; of ours the field, which repeats no value.
            fault = type(error).__name__ if isinstance(error, OSError) else str(error)
            _log.error("a changed file is refused, the former one stays in force", extra=self._said(fault=fault))
            self._count("refused", stale=1)
        else:
            _log.info("a changed file is in force", extra=self._said())
            self._count("taken", stale=0)

    def _said(self, **more: str) -> dict[str, str]:
        return {"file": self._name, "path": str(self._path), **more}

    def _count(self, outcome: str, *, stale: int) -> None:
        reads.labels(self._name, outcome).inc()
        is_stale.labels(self._name).set(stale)


def _signature(path: Path) -> _Signature:
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _signature_or_none(path: Path) -> _Signature | None:
    try:
        return _signature(path)
    except OSError:
        return None
