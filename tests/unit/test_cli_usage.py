"""What the command line says to wrong use, and how it finds the system: without any system running."""

import io
import json
import sys
from pathlib import Path

import pytest

from cli.commands.up import parse_ports
from cli.data_folder import claimed
from cli.endpoints import Endpoints, endpoints_pid, find_endpoints, read_endpoints, remove_endpoints, write_endpoints
from cli.failure import EXIT_CODES_HELP, ExitCode, Failure
from cli.main import app, main
from cli.options import moment
from cli.output import one_line, safe, say_table

COMMANDS = (
    "up", "demo", "init-db", "record", "record-git", "ingest", "capture", "search", "context", "explain",
    "trace", "verify",
    "neighbours", "traverse", "facts", "as-of", "history", "correct", "retract", "obsolete", "reconcile", "redact",
    "purge", "rollback-source", "receipt", "scrub", "curate",
    "calibrate", "conformance", "doctor", "health", "status", "token", "vector-index", "watch",
)  # fmt: skip
GROUPS = {
    "audit": ("list", "verify", "append"),
    "authors": ("list", "allow", "forbid"),
    "duplicates": ("list", "confirm", "refuse", "undo"),
    "extraction": ("status", "retry"),
    "packs": ("list", "show", "register", "enable"),
    "reembed": ("start", "status", "switch", "rollback", "drop"),
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No system of this machine's is found."""
    for name in ("PALIMPSEST_TARGET", "PALIMPSEST_DSN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PALIMPSEST_DATA", str(tmp_path / "data"))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["palimpsest", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    return int(ending.value.code or 0)


def test_every_command_tells_its_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in COMMANDS:
        assert run(monkeypatch, command, "--help") == ExitCode.OK
        assert " ".join(EXIT_CODES_HELP.split()) in " ".join(capsys.readouterr().out.split())
    for group, commands in GROUPS.items():
        for command in commands:
            assert run(monkeypatch, group, command, "--help") == ExitCode.OK
            assert " ".join(EXIT_CODES_HELP.split()) in " ".join(capsys.readouterr().out.split())
    assert len(app.registered_commands) == len(COMMANDS)
    assert {group.name for group in app.registered_groups} == GROUPS.keys()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("search",), ExitCode.USAGE, "query"),
        (("search", "x"), ExitCode.UNAVAILABLE, "palimpsest up"),
        (("status",), ExitCode.UNAVAILABLE, "palimpsest up"),
        (("search", "x", "--target", "127.0.0.1:1"), ExitCode.UNAVAILABLE, "nothing answers at 127.0.0.1:1"),
        (("search", "x", "--target", "scribe=h:1"), ExitCode.USAGE, "scribe"),
        (("search", "x", "--as-of", "2026-03-01T00:00:00"), ExitCode.USAGE, "--as-of: the time has no offset"),
        (("search", "x", "--as-of", "spring"), ExitCode.USAGE, "--as-of: must be a time"),
        (("context", "x", "--budget", "300", "--tokens", "100"), ExitCode.USAGE, "one budget"),
        (("search", "x", "--time", "2026-03-01T00:00:00"), ExitCode.USAGE, "--time: the time has no offset"),
        (("context", "x", "--time", "noon"), ExitCode.USAGE, "--time: must be a time"),
        (("traverse",), ExitCode.USAGE, "say where to start"),
        (("traverse", "a:b", "--depth", "4"), ExitCode.USAGE, "--depth"),
        (("neighbours", "a:b", "--direction", "up"), ExitCode.USAGE, "--direction"),
        (("verify", "pack-1", "/nowhere"), ExitCode.USAGE, "No such file"),
        (("verify", "pack-1", "/dev/null"), ExitCode.UNAVAILABLE, "palimpsest up"),
        (("explain", "trace-1"), ExitCode.USAGE, "item"),
        (("ingest", "/nowhere"), ExitCode.USAGE, "not a folder"),
        (("record", "/nowhere"), ExitCode.USAGE, "No such file"),
        (("record-git", "/"), ExitCode.USAGE, "no git repository"),
        (("init-db",), ExitCode.USAGE, "PALIMPSEST_DSN"),
        (("init-db", "--dsn", "postgresql://u:p@127.0.0.1:1/x", "--timeout", "1"), ExitCode.UNAVAILABLE, "database"),
        (("up", "--port", "many"), ExitCode.USAGE, "--port"),
        (("as-of", "spring"), ExitCode.USAGE, "TIME: must be a time"),
        (("as-of", "2026-03-01T00:00:00"), ExitCode.USAGE, "TIME: the time has no offset"),
        (("correct", "fact-1"), ExitCode.USAGE, "say what is right"),
        (("correct", "fact-1", "--text", "x", "--only-wrong"), ExitCode.USAGE, "say what is right"),
        (("correct", "fact-1", "--text", "x", "--entity", "a:b"), ExitCode.USAGE, "one object"),
        (("retract", "fact-1", "--valid-to", "soon"), ExitCode.USAGE, "--valid-to: must be a time"),
        (("obsolete", "Alice likes tea", "--undo"), ExitCode.USAGE, "--undo: takes the id"),
        (("reconcile", "/nowhere", "--source", "jira", "--scope", "OPS"), ExitCode.USAGE, "No such file"),
        (("reconcile", "/dev/null", "--source", "jira"), ExitCode.USAGE, "--scope"),
        (("packs", "register", "/nowhere"), ExitCode.USAGE, "No such file"),
        (("packs", "register", "/dev/null"), ExitCode.USAGE, "not JSON"),
        (("duplicates", "list", "--state", "merged"), ExitCode.USAGE, "merged"),
        (("purge",), ExitCode.USAGE, "select by one of"),
        (("purge", "--subject", "person:a", "--entity", "person:a"), ExitCode.USAGE, "select by one of"),
        (("purge", "--subject", "anna"), ExitCode.USAGE, "--subject: must be TYPE:ID"),
        (("purge", "--entity", "a:b", "--stream", "s"), ExitCode.USAGE, "need --system"),
        (("rollback-source", "git"), ExitCode.USAGE, "--since"),
        (("audit", "verify", "--head", "1"), ExitCode.USAGE, "--head: must be a number"),
        (("audit", "verify", "--head", "1:" + "0" * 64, "--all"), ExitCode.USAGE, "of one namespace"),
        (("scrub",), ExitCode.USAGE, "PALIMPSEST_DSN"),
        (("scrub", "--dsn", "postgresql://u:p@127.0.0.1:1/x"), ExitCode.UNAVAILABLE, "database"),
        (("curate",), ExitCode.UNAVAILABLE, "palimpsest up"),
        (("health",), ExitCode.UNAVAILABLE, "palimpsest up"),
    ],
)
def test_wrong_use_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: ExitCode,
    said: str,
) -> None:
    """OP-2: a reason and an exit code, never a traceback."""
    assert run(monkeypatch, *arguments) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert "p@" not in captured.err
    assert captured.out == ""


def test_where_the_system_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """SH-4: --target, then PALIMPSEST_TARGET, then what `up` left in the data folder."""
    left = Endpoints("a:1", "a:2", "a:3")
    write_endpoints(tmp_path, left)
    assert find_endpoints(None, tmp_path) == left
    monkeypatch.setenv("PALIMPSEST_TARGET", "writer=b:1, reader=b:2")
    assert find_endpoints(None, tmp_path) == Endpoints("b:1", "b:2", "")
    assert find_endpoints("c:1", tmp_path) == Endpoints("c:1", "c:1", "c:1")
    remove_endpoints(tmp_path)
    assert read_endpoints(tmp_path) is None
    assert endpoints_pid(tmp_path) is None


def test_a_damaged_endpoints_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "endpoints.json").write_text(json.dumps(["x"]))
    assert read_endpoints(tmp_path) is None


def test_a_data_folder_has_one_system(tmp_path: Path) -> None:
    """SH-4: a second `up` says who runs there, and where it answers."""
    folder = tmp_path / "data"
    with claimed(folder):
        write_endpoints(folder, Endpoints("h:1", "h:2", "h:3"))
        with pytest.raises(Failure, match=r"already runs in .*process \d+.*h:1, h:2, h:3"), claimed(folder):
            pass
    with claimed(folder):
        pass


@pytest.mark.parametrize(
    ("text", "ports"), [("7431", (7431, 7432, 7433)), ("0", (0, 0, 0)), ("9,8,7", (9, 8, 7)), ("0,0,5", (0, 0, 5))]
)
def test_ports(text: str, ports: tuple[int, int, int]) -> None:
    assert parse_ports(text) == ports


@pytest.mark.parametrize("text", ["", "x", "1,2", "65535", "-1", "5,5,6", "1,2,3,4"])
def test_wrong_ports(text: str) -> None:
    with pytest.raises(Failure, match="--port"):
        parse_ports(text)


def test_moments_of_options() -> None:
    """OB-5: an offset is kept as the moment it means."""
    found = moment("2026-03-01T00:30:00+03:00", "--as-of")
    assert found is not None
    assert found.ToJsonString() == "2026-02-28T21:30:00Z"
    assert moment(None, "--as-of") is None


def test_stored_text_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """OP-2: escape sequences and marks of direction are shown, not obeyed; brackets are no styles."""
    hostile = "\x1b[31mred\x1b]0;title\x07 \u202ereversed [bold]x[/bold]"
    say_table(("text",), [(hostile,)])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "[bold]x[/bold]" in printed
    assert safe("a\tb\nc") == "a\tb\nc"


def test_one_line() -> None:
    assert one_line("a\n  b\tc", 10) == "a b c"
    assert one_line("abcdef", 4) == "abc…"


def test_text_that_the_terminal_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal without Unicode gets escapes, not a traceback."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", stream)
    assert run(monkeypatch, "ingest", "/нет") == ExitCode.USAGE
    stream.flush()
    assert b"/\\u043d\\u0435\\u0442" in stream.buffer.getvalue()  # type: ignore[attr-defined]
