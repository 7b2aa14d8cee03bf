"""`palimpsest watch` against a real system, as a process of its own that is interrupted as people do."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import grpc
import pytest
from palimpsest.v1.reader_service_pb2 import WatchRequest, WatchResponse
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceServicer, add_ReaderServiceServicer_to_server

from tests.acceptance.test_cli import (
    COMMAND_TIMEOUT_S,
    PALIMPSEST,
    STOP_TIMEOUT_S,
    Ended,
    Running,
    environment,
    folder,
    observation,
    up,
)
from tests.acceptance.test_cli_knowledge import entity, fact
from tests.ports import free_port

INTERRUPTED = 130


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    """One system for all tests; each uses a namespace of its own."""
    with folder() as place, up(place / "data") as running:
        yield running


@dataclass(frozen=True)
class Stream:
    """A `palimpsest watch` that goes on."""

    process: subprocess.Popen[str]

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "it ended"
        return line.rstrip("\n")

    def lines_until(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """Lines up to the one with which something holds."""
        lines: list[str] = []
        while not holds(lines):
            lines.append(self.line())
        return lines

    def changes_until(self, *ids: str) -> list[dict[str, Any]]:
        """Of JSON lines the changes, until there were some of all these."""
        changes: list[dict[str, Any]] = []
        while not set(ids) <= {each["item_id"] for each in changes}:
            changes += json.loads(self.line())["changes"]
        return changes

    def interrupt(self) -> Ended:
        """Presses Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=STOP_TIMEOUT_S)
        assert "Traceback" not in err
        return Ended(self.process.returncode, out, err)


def watching(system: Running, *arguments: str) -> AbstractContextManager[Stream]:
    """A stream of a system."""
    return watching_in(system.data, *arguments)


@contextmanager
def watching_in(data: Path, *arguments: str) -> Iterator[Stream]:
    """A stream of the system that runs in a folder, or of the one that arguments name."""
    # Where the tests are run in the background, interrupts may be ignored, which children would inherit.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*PALIMPSEST, "watch", *arguments], env=environment(data), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    signal.signal(signal.SIGINT, before)
    patience = threading.Timer(COMMAND_TIMEOUT_S, process.kill)
    patience.start()
    try:
        yield Stream(process)
    finally:
        patience.cancel()
        process.kill()
        process.communicate(timeout=STOP_TIMEOUT_S)


def cursor_now(system: Running, namespace: str) -> str:
    """Where the changes of a namespace end."""
    with watching(system, namespace, "--json") as stream:
        return str(json.loads(stream.line())["cursor"])


def recorded(system: Running, namespace: str, number: int, **fields: Any) -> str:
    """Records an observation; its id."""
    ended = system.palimpsest("record", "-n", namespace, "--json", stdin=observation(number, **fields))
    assert ended.code == 0, ended.err
    return str(ended.lines[0]["recorded"]["observation_id"])


def test_changes_as_json(system: Running) -> None:
    """RE-13: a line is a message as it came; by a change's cursor what came behind it is told again, and no more."""
    with watching(system, "js", "--json") as stream:
        first = json.loads(stream.line())
        assert (first["changes"], bool(first["cursor"])) == ([], True)
        said = recorded(system, "js", 1, assertions=[entity("person:zoe", "Zoe"), fact("person:zoe", "KNOWS", "a:b")])
        changes = stream.changes_until(said, "person:zoe", "a:b")
        ended = stream.interrupt()
    assert (ended.code, ended.err) == (INTERRUPTED, "")
    assert {each["type"] for each in changes} == {"CHANGE_TYPE_ADDED"}
    assert [each["entity"]["title"] for each in changes if each["item_id"] == "person:zoe"] == ["Zoe"]
    [stored] = [each["observation"]["observation"] for each in changes if "observation" in each]
    assert stored["content"].startswith("Сообщение номер 1")
    with watching(system, "js", "--json", "--cursor", changes[0]["cursor"]) as stream:
        stream.line()
        later = recorded(system, "js", 2, actor={"type": "person", "id": "boris"})
        again = [each["item_id"] for each in stream.changes_until(later)]
    assert again[: len(changes)] == [*(each["item_id"] for each in changes[1:]), later]


def test_changes_for_people(system: Running) -> None:
    """RE-13: a line a change, whatever its text holds; on Ctrl-C it says how to go on, and so it does."""
    begin = cursor_now(system, "ppl")
    said = recorded(
        system,
        "ppl",
        1,
        content="one\ntwo \x1b[31mthree",
        assertions=[entity("person:zoe", "Zoe"), fact("person:zoe", "KNOWS", "a:b")],
    )
    with watching(system, "ppl", "--cursor", begin) as stream:
        lines = stream.lines_until(lambda seen: bool(seen) and " fact fact-" in seen[-1])
        ended = stream.interrupt()
    assert all(line.startswith("+ 20") and line[21:23] == "Z " for line in lines)
    assert [line for line in lines if line.endswith(f" observation {said} one two \N{REPLACEMENT CHARACTER}[31mthree")]
    assert [line for line in lines if line.endswith(" entity person:zoe Zoe")]
    assert lines[-1].endswith(" zoe knows b")
    assert (ended.code, ended.out) == (INTERRUPTED, "")
    [go_on] = ended.err.splitlines()
    assert go_on.startswith("go on with --cursor ")
    assert system.palimpsest("purge", "--subject", "person:zoe", "-n", "ppl", "--yes").code == 0
    with watching(system, "ppl", "--cursor", go_on.rpartition(" ")[2]) as stream:
        lines = stream.lines_until(lambda seen: bool(seen) and " fact fact-" in seen[-1])
    assert {line[0] for line in lines} == {"-"}
    hashed = sha256(b"person:zoe").hexdigest()
    assert [line for line in lines if line.endswith(f" entity one that was erased ({hashed})")]


def test_only_what_lies_here(system: Running) -> None:
    """RE-13, AC-3: --scope leaves out what lies elsewhere."""
    begin = cursor_now(system, "sc")
    recorded(system, "sc", 1, assertions=[{"entity": {"entity": {"key": "a:1"}, "scopes": ["project:there"]}}])
    recorded(system, "sc", 2, assertions=[entity("a:2", "Two")])
    with watching(system, "sc", "--json", "--cursor", begin, "--scope", "project:here") as stream:
        assert "a:1" not in [each["item_id"] for each in stream.changes_until("a:2")]


def test_wrong_use(system: Running) -> None:
    """OP-2: the field's path in one line; a cursor that is none is not offered to go on with."""
    for arguments, told in (
        (("x", "--cursor", "none"), "cursor: not a cursor of this memory"),
        (("white space",), "namespace: "),
        (("x", "--scope", "nothing"), "scopes[0]: "),
    ):
        refused = system.palimpsest("watch", *arguments)
        assert (refused.code, refused.out) == (2, "")
        [line] = refused.err.splitlines()
        assert line.startswith("error: INVALID_ARGUMENT")
        assert told in line


class _Reader(ReaderServiceServicer):  # type: ignore[misc]  # grpc ships no types
    """A reader of which each stream begins, and is cut off when its test says so."""

    def __init__(self) -> None:
        self.cut = threading.Event()
        self.cursors: list[str] = []

    def Watch(self, request: WatchRequest, context: grpc.ServicerContext) -> Iterator[WatchResponse]:
        self.cursors.append(request.cursor)
        yield WatchResponse(cursor=f"c{len(self.cursors)}")
        self.cut.wait(COMMAND_TIMEOUT_S)
        self.cut.clear()
        context.abort(grpc.StatusCode.UNAVAILABLE, "")


@contextmanager
def reader_at(port: int) -> Iterator[_Reader]:
    """A reader on a port."""
    servicer, server = _Reader(), grpc.server(ThreadPoolExecutor(4))
    add_ReaderServiceServicer_to_server(servicer, server)
    assert server.add_insecure_port(f"127.0.0.1:{port}") == port
    server.start()
    try:
        yield servicer
    finally:
        servicer.cut.set()
        server.stop(None).wait()


def test_where_nobody_answers() -> None:
    """RE-13: it says so once, with the address and what to do, and goes on trying; so it does again when it is cut off,
    and it goes on where it was."""
    port = free_port()
    with folder() as place, watching_in(place, "x", "--json", "--target", f"127.0.0.1:{port}") as stream:
        assert stream.process.stderr is not None
        told = stream.process.stderr.readline()
        assert told.startswith(f"nothing answers at 127.0.0.1:{port}: start the system with 'palimpsest up'")
        assert told.endswith("; trying again until it answers\n")
        with reader_at(port) as reader:
            assert json.loads(stream.line())["cursor"] == "c1"
            reader.cut.set()
            assert json.loads(stream.line())["cursor"] == "c2"
            ended = stream.interrupt()
    # Cut off once more, it has said so once more; how often it tried before makes no difference.
    assert (ended.code, ended.err) == (INTERRUPTED, told)
    assert reader.cursors == ["", "c1"]
