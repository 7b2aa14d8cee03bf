"""What a driver's error means to the domain, told from its SQLSTATE (Postgres manual, appendix A)."""

from __future__ import annotations

import re

from shared.errors import DatabaseUnavailable, DeadlineExceeded, WriteContention

# Serialization failure, deadlock, and a plan that was cached before the schema was upgraded.
_CONFLICTS = frozenset({"40001", "40P01", "0A000"})
_STALE_PLAN = "InvalidCachedStatementError"
_LOCK_TIMEOUT = "55P03"
_TOO_LATE = frozenset({"57014", "25P04"})
# The server is primary no longer; the table or schema is not there yet; idle too long.
READ_ONLY = "25006"
_NOT_SERVING = frozenset({READ_ONLY, "42P01", "3F000", "25P03"})
# A space of vectors that was dropped after its name was read: who reads the name again finds another.
_UNDEFINED_TABLE, _DROPPED_SPACE = "42P01", re.compile(r'"vectors_[0-9a-f]{24}')
# Connection, authentication, database, resources, shutdown.
_NOT_SERVING_CLASSES = ("08", "28", "3D", "53", "57P")

_SYNTAX_OR_ACCESS = "42"
# The one part of the driver's "invalid input for query argument $1: …" that quotes no value.
_ARGUMENT = re.compile(r"argument \$\d+")
_NAMES = ("table_name", "column_name", "constraint_name")


class StatementFailed(Exception):
    """A statement failed in a way that no caller can mend: a fault of ours.

    The text holds codes and names of schema objects, never values: the driver's own message may quote content.
    """


class Conflict(Exception):
    """A conflict that running the transaction again may solve; its argument is the SQLSTATE."""


def of(error: Exception) -> str:
    """The SQLSTATE of a driver's error, empty where it has none."""
    return str(getattr(error, "sqlstate", None) or "")


def translate(error: Exception, *, lost: bool) -> Exception:
    """The domain's error for a driver's; `lost` says that the connection is gone."""
    sqlstate = of(error)
    if sqlstate in _CONFLICTS and (sqlstate != "0A000" or type(error).__name__ == _STALE_PLAN):
        return Conflict(sqlstate)
    if sqlstate == _UNDEFINED_TABLE and _DROPPED_SPACE.search(str(error)):
        return Conflict(sqlstate)
    if sqlstate == _LOCK_TIMEOUT:
        return WriteContention()
    if sqlstate in _TOO_LATE:
        return DeadlineExceeded()
    if lost or sqlstate in _NOT_SERVING or sqlstate.startswith(_NOT_SERVING_CLASSES):
        return DatabaseUnavailable()
    if isinstance(error, ConnectionError):
        return DatabaseUnavailable()
    return StatementFailed(describe(error))


def describe(error: Exception) -> str:
    """What failed, without content: class 42 speaks of our SQL only, other messages may quote values."""
    sqlstate = of(error)
    names = [f"{name}={value}" for name in _NAMES if (value := getattr(error, name, None))]
    message = getattr(error, "message", "") if sqlstate.startswith(_SYNTAX_OR_ACCESS) else ""
    argument = _ARGUMENT.search(str(error))
    return " ".join(filter(None, [type(error).__name__, sqlstate, *names, message, argument and argument[0]]))
