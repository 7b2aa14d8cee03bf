"""Logs as one JSON object a line, with the trace id of the call. Content is never logged.

The text of an exception can hold content (a driver repeats the row that it refused), so of an exception only its type
and the places in the code are written, whoever logged it.
"""

import json
import logging
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import TextIO

from opentelemetry import trace

from shared.end_of_turn import EndOfTurn

_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Made once: `json.dumps` makes one for each line.
_to_json = json.JSONEncoder(ensure_ascii=False, default=lambda value: type(value).__name__).encode


def configure_logs(level: str, service: str, stream: TextIO | None = None) -> None:
    """Sends all logs of the process to `stream` (standard error), as JSON."""
    handler = TurnHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(service))
    # No line tells them, and finding them out for each record takes system calls.
    logging.logProcesses = logging.logMultiprocessing = logging.logThreads = False
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def current_trace_id() -> str:
    """The trace id of the call under way, 32 hex digits; empty outside of one."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""


def exception_outline(error: BaseException) -> str:
    """Types and places of `error` and what caused it, innermost call last, without any text of theirs."""
    causes = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    outer = f"{exception_outline(causes)}; then " if causes is not None else ""
    return f"{outer}{type(error).__qualname__} at {_places(error.__traceback__)}"


class TurnHandler(logging.Handler):
    """Writes lines to a stream; those of one turn of an event loop together, at the end of that turn.

    Each write lets the interpreter go to other threads and waits for it to come back, which takes longer than the line.
    A warning, or what is worse, is written at once, and with it all before it; so is what is logged where no loop runs.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: list[str] = []
        self._end_of_turn = EndOfTurn(self._write)

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the record's line until the end of the turn, or writes it."""
        try:
            self._lines.append(self.format(record) + "\n")
            if record.levelno >= logging.WARNING or not self._end_of_turn.ask():
                self.flush()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Writes the lines that are kept. The process's end does it too."""
        self.acquire()
        try:
            lines, self._lines = self._lines, []
            if lines:
                self._stream.write("".join(lines))
                self._stream.flush()
        finally:
            self.release()

    def _write(self) -> None:
        with suppress(OSError, ValueError):  # where lines cannot be written, nobody can be told
            self.flush()


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; what was given as `extra` becomes fields of its own."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "service": self._service,
            "logger": record.name,
            "message": record.getMessage(),
        }
        given = {key: value for key, value in vars(record).items() if key not in _STANDARD_FIELDS}
        if "trace_id" not in given and (trace_id := current_trace_id()):
            line["trace_id"] = trace_id
        line |= given
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = exception_outline(record.exc_info[1])
        return _to_json(line)


def _places(where: TracebackType | None) -> str:
    frames = traceback.extract_tb(where)
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames) or "an unknown place"
