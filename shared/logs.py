"""Logs as one JSON object a line, with the trace id of the call. Content is never logged.

The text of an exception can hold content (a driver repeats the row that it refused), so of an exception only its type
and the places in the code are written, whoever logged it.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import TextIO

from opentelemetry import trace

_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logs(level: str, service: str, stream: TextIO | None = None) -> None:
    """Sends all logs of the process to `stream` (standard error), as JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(service))
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
        if trace_id := current_trace_id():
            line["trace_id"] = trace_id
        line.update((key, value) for key, value in vars(record).items() if key not in _STANDARD_FIELDS)
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = exception_outline(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=lambda value: type(value).__name__)


def _places(where: TracebackType | None) -> str:
    frames = traceback.extract_tb(where)
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames) or "an unknown place"
