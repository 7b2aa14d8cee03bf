"""The command line against a real system: `palimpsest up` as a process, with its own Postgres, on free ports."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.endpoints import endpoints_pid

START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 60
COMMAND_TIMEOUT_S = 120
PALIMPSEST = (sys.executable, "-m", "cli.main")


def environment(data: Path) -> dict[str, str]:
    """The machine's, without what would lead to another system, or colour what is printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PALIMPSEST_", "GIT_"))}
    # A busy machine takes its time for the vector of a query: what is found with it is what is asked here.
    patient = {"PALIMPSEST_READER_EMBED_TIMEOUT_S": "20"}
    return kept | patient | {"PALIMPSEST_DATA": str(data), "NO_COLOR": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it printed, as JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Running:
    """A system that `palimpsest up` runs."""

    data: Path
    process: "subprocess.Popen[str]"

    def palimpsest(self, *arguments: str, stdin: str = "") -> Ended:
        """Runs a command against the system."""
        done = subprocess.run(
            [*PALIMPSEST, *arguments], env=environment(self.data), input=stdin, capture_output=True, text=True,
            timeout=COMMAND_TIMEOUT_S,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    def stop(self, received: int = signal.SIGTERM) -> Ended:
        """Ends the system with a signal."""
        self.process.send_signal(received)
        out, err = self.process.communicate(timeout=STOP_TIMEOUT_S)
        return Ended(self.process.returncode, out, err)


@contextmanager
def up(data: Path, *options: str) -> Iterator[Running]:
    process = subprocess.Popen(
        [*PALIMPSEST, "up", "--port", "0", *options], env=environment(data), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + START_TIMEOUT_S
        while endpoints_pid(data) != process.pid:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until, "the system did not become ready"
            time.sleep(0.1)
        yield Running(data, process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=STOP_TIMEOUT_S)


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that the account which runs Postgres can reach; pytest's own are closed to it."""
    path = Path(tempfile.mkdtemp(prefix="palimpsest-cli-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    """One system for the tests that leave it running; each uses a namespace of its own."""
    with folder() as place, up(place / "data") as running:
        yield running


def observation(number: int, **changed: Any) -> str:
    fields = {
        "source": {"system": "chat", "stream": "team", "external_id": str(number)},
        "kind": "message",
        "occurred_at": f"2026-03-01T00:{number % 60:02}:00+03:00",
        "actor": {"type": "person", "id": "anna"},
        "content": f"Сообщение номер {number}: отчёты по Альфе выпускаем по средам.",
    }
    return json.dumps({**fields, **changed}, ensure_ascii=False)


def test_recording_lines(system: Running) -> None:
    """OB-3, OB-5, OB-6: bad lines are named with number and path, the others are stored, and again changes nothing."""
    fact = {
        "fact": {
            "subject": {"key": "person:anna"},
            "predicate": "WORKS_ON",
            "object": {"entity": {"key": "project:alpha"}},
        }
    }
    lines = [
        observation(1), observation(2, assertions=[fact]), "", observation(3, occurred_at="2026-03-01T00:00:00"),
        observation(4, kind="NOT A KIND"), "{", observation(5, namespace="lines-elsewhere"),
    ]  # fmt: skip
    first = system.palimpsest("record", "-", "-n", "lines", stdin="\n".join(lines))
    assert first.code == 4
    assert "line 4: occurred_at: the time has no offset" in first.err
    assert "line 5: INVALID_ARGUMENT" in first.err
    assert " kind: " in first.err
    assert "line 6: not JSON" in first.err
    assert "3 stored, 0 known before, 3 refused" in first.out
    again = system.palimpsest("record", "-", "-n", "lines", "--json", stdin="\n".join(lines[:2]))
    assert again.code == 0
    assert [line["outcome"] for line in again.lines[:-1]] == ["duplicate", "duplicate"]
    assert again.lines[-1] == {"summary": {"stored": 0, "partly": 0, "duplicate": 2, "refused": 0}}


def test_recording_the_same_event_with_other_content(system: Running) -> None:
    """OB-3: it is refused, and what was stored stands."""
    assert system.palimpsest("record", "-n", "conflict", stdin=observation(1)).code == 0
    other = system.palimpsest("record", "-n", "conflict", stdin=observation(1, content="other"))
    assert other.code == 1
    assert "ALREADY_EXISTS (OBSERVATION_CONFLICT)" in other.err


def test_facts(system: Running) -> None:
    """RE-11: a subject's facts as text and as JSON; none is exit code 3."""
    assertion = {
        "fact": {
            "subject": {"key": "person:anna"}, "predicate": "WORKS_ON", "object": {"entity": {"key": "project:alpha"}},
            "valid_from": "2026-01-01T00:00:00Z",
        }
    }  # fmt: skip
    assert system.palimpsest("record", "-n", "facts", stdin=observation(1, assertions=[assertion])).code == 0
    found = system.palimpsest("facts", "person:anna", "-n", "facts", "--json")
    assert found.code == 0
    assert [(one["predicate"], one["object"]["entity"]["key"]) for one in found.lines] == [
        ("WORKS_ON", "project:alpha")
    ]
    assert found.lines[0]["fact_id"] in system.palimpsest("facts", "-n", "facts").out
    assert system.palimpsest("facts", "person:nobody", "-n", "facts").code == 3
    before = system.palimpsest("facts", "person:anna", "-n", "facts", "--as-of", "2025-12-31T23:59:59Z")
    assert before.code == 3


def git(place: Path, *arguments: str) -> None:
    identity = {"GIT_AUTHOR_NAME": "Анна", "GIT_AUTHOR_EMAIL": "anna@example.org", "GIT_COMMITTER_NAME": "Анна",
                "GIT_COMMITTER_EMAIL": "anna@example.org"}  # fmt: skip
    command = ["git", "-C", str(place), *arguments]
    subprocess.run(command, env=environment(place) | identity, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "billing"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    (place / "retry.py").write_text("1")
    (place / "README.md").write_text(
        "---\ntitle: Billing\nPART_OF_PROJECT: alpha\n---\n# Billing\n\nSee [[Retries]].\n"
    )
    (place / "docs").mkdir()
    (place / "docs" / "Retries.md").write_text("# Retries\n\nA retry never charges twice: see [code](../retry.py).\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Set up billing")
    git(place, "commit", "-q", "--allow-empty", "-m", "Чинить таймауты платежей\n\nПовтор не списывает дважды.")
    return place


def test_recording_a_repository(system: Running, repository: Path) -> None:
    """OB-3, OB-6: every commit once, however often, also from another branch; it is found by its words."""
    first = system.palimpsest("record-git", str(repository), "-n", "git")
    assert first.code == 0
    assert "2 stored, 0 known before, 0 refused" in first.out
    git(repository, "checkout", "-qb", "other")
    assert "0 stored, 2 known before, 0 refused" in system.palimpsest("record-git", str(repository), "-n", "git").out
    found = system.palimpsest("search", "таймаут платежа", "-n", "git", "--mode", "lexical", "--json")
    assert found.code == 0
    [answer] = found.lines
    assert answer["hits"][0]["provenance"][0]["source"]["system"] == "git"
    text = system.palimpsest("search", "таймаут платежа", "-n", "git", "--mode", "lexical")
    assert "Чинить таймауты платежей" in text.out
    assert "\x1b" not in text.out


def test_ingesting_a_folder_twice(system: Running, repository: Path) -> None:
    """DO-5, DO-1: nothing new the second time, one document after a change, and the files are untouched."""
    before = {path: path.read_bytes() for path in repository.rglob("*.md")}
    (repository / "bad.md").write_bytes(b"\xff\xfe")
    first = system.palimpsest("ingest", str(repository), "-n", "vault")
    assert first.code == 4
    assert "bad.md: not UTF-8" in first.err
    assert "2 stored, 0 known before, 1 refused" in first.out
    (repository / "bad.md").unlink()
    assert "0 stored, 2 known before" in system.palimpsest("ingest", str(repository), "-n", "vault").out
    assert {path: path.read_bytes() for path in repository.rglob("*.md")} == before
    (repository / "README.md").write_text("# Billing\n\nChanged.\n")
    assert "1 stored, 1 known before" in system.palimpsest("ingest", str(repository), "-n", "vault").out


def test_ingesting_what_a_folder_no_longer_has(system: Running, repository: Path) -> None:
    """DO-5: a complete run removes it; a dry run and one without sweep don't, nor one that could not read a file."""
    (repository / "old.md").write_text("# Old\n\nA vanishing canary.\n")
    assert "3 stored" in system.palimpsest("ingest", str(repository), "-n", "sweep").out
    (repository / "old.md").unlink()
    (repository / "new.md").write_text("# New\n\nnew\n")
    dry = system.palimpsest("ingest", str(repository), "-n", "sweep", "--dry-run", "--json")
    assert dry.lines == [{"would_store": 1, "known": 2, "would_remove": ["doc:old.md"]}]

    def canary() -> int:
        return system.palimpsest("search", "vanishing canary", "-n", "sweep", "--mode", "lexical").code

    assert canary() == 0
    assert "1 stored, 2 known" in system.palimpsest("ingest", str(repository), "-n", "sweep", "--no-sweep").out
    assert canary() == 0
    (repository / "bad.md").write_bytes(b"\xff\xfe")
    assert "Nothing was removed" in system.palimpsest("ingest", str(repository), "-n", "sweep").err
    assert canary() == 0
    (repository / "bad.md").unlink()
    assert (
        "Removed: 1 that the folder no longer has (doc:old.md)"
        in system.palimpsest("ingest", str(repository), "-n", "sweep").out
    )
    assert canary() == 3


def test_an_ingestion_that_is_killed_removes_nothing(system: Running) -> None:
    """DO-5: at whatever point the process is killed, all documents of the last complete run are there."""
    with folder() as place:
        for number in range(40):
            (place / f"kept{number}.md").write_text(f"# Kept {number}\n\ntext {number}\n")
        assert system.palimpsest("ingest", str(place), "-n", "killed").code == 0
        (place / "kept0.md").unlink()
        for wanted in (1, 15, 30):
            for number in range(40):
                (place / f"kept{number}.md").write_text(f"# Kept {number}\n\nform {wanted} of {number}\n")
            (place / f"kept{wanted}.md").unlink()
            command = [*PALIMPSEST, "ingest", str(place), "-n", "killed", "--json"]
            process = subprocess.Popen(command, env=environment(system.data), stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            for _ in range(wanted):
                process.stdout.readline()
            process.kill()
            process.communicate(timeout=STOP_TIMEOUT_S)
            [counted] = system.palimpsest("status", "-n", "killed", "--json").lines
            assert counted["statistics"]["statistics"]["chunks"] == "40"


def test_context(system: Running, repository: Path) -> None:
    """RE-6, RE-7: a pack with the provenance of each item; nonsense gets none, the reason, and exit code 3."""
    assert system.palimpsest("ingest", str(repository), "-n", "context").code == 0
    found = system.palimpsest("context", "does a retry charge twice?", "-n", "context")
    assert found.code == 0
    assert "A retry never charges twice" in found.out
    assert "Provenance" in found.out
    assert "vault/billing" in found.out
    [answer] = system.palimpsest("context", "does a retry charge twice?", "-n", "context", "--json").lines
    assert len(answer["pack"]["rendered"]) == answer["pack"]["characters"] <= 2800
    nothing = system.palimpsest("context", "zxqv blorp", "-n", "context")
    assert nothing.code == 3
    assert "Nothing relevant: " in nothing.out


def test_status(system: Running) -> None:
    """OP-1: the three services, the model, and what a namespace holds."""
    assert system.palimpsest("record", "-n", "status", stdin=observation(1)).code == 0
    [report] = system.palimpsest("status", "-n", "status", "--json").lines
    assert {name: service["health"] for name, service in report["services"].items()} == dict.fromkeys(
        ("writer", "reader", "embedder"), "SERVING"
    )
    assert report["model"]["fingerprint"]["dimension"] == 384
    assert report["statistics"]["statistics"]["observations"] == "1"
    assert "SERVING" in system.palimpsest("status").out


def test_wrong_requests(system: Running) -> None:
    """OP-2: the field's path in one line."""
    refused = system.palimpsest("search", "x", "-n", "white space")
    assert refused.code == 2
    assert "namespace: " in refused.err
    assert system.palimpsest("search", "", "-n", "n").code == 2


def test_a_second_system(system: Running) -> None:
    """SH-4: not in the same folder, and not on the same port; both are said plainly."""
    second = system.palimpsest("up", "--port", "0")
    assert second.code == 1
    assert "already runs" in second.err
    assert str(system.process.pid) in second.err
    with socket.socket() as taken, folder() as place:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        other = system.palimpsest("up", "--data", str(place / "data"), "--ports", f"0,{port},0")
    assert other.code == 1
    assert f"port {port} of 127.0.0.1, meant for the reader, is taken" in other.err


def test_stopping_and_starting_again() -> None:
    """SH-4: SIGTERM and Ctrl-C end it cleanly, Postgres too, and what was stored is there at the next start."""
    with folder() as place:
        data = place / "data"
        for received, fate in ((signal.SIGTERM, "stored"), (signal.SIGINT, "duplicate")):
            with up(data) as running:
                recorded = running.palimpsest("record", "--json", stdin=observation(1))
                assert [line.get("outcome") for line in recorded.lines] == [fate, None]
                ended = running.stop(received)
            assert ended.code == 0
            assert "grpcurl -plaintext" in ended.out
            assert "Stopped" in ended.err
            assert not (data / "endpoints.json").exists()
            assert not (data / "postgres" / "data" / "postmaster.pid").exists()
            assert running.palimpsest("status").code == 69


def test_a_system_that_was_killed_starts_again() -> None:
    """SH-4, OB-3: after SIGKILL the next start recovers, with all that was acknowledged."""
    with folder() as place:
        with up(place / "data") as running:
            assert running.palimpsest("record", stdin=observation(1)).code == 0
            running.stop(signal.SIGKILL)
        with up(place / "data") as running:
            recorded = running.palimpsest("record", "--json", stdin=observation(1))
            assert recorded.lines[0]["outcome"] == "duplicate"


def test_the_demo_without_a_history() -> None:
    """SH-4, RE-4: it answers in both languages with provenance, abstains from nonsense, and keeps its data."""
    questions = ("-q", "когда выпускают отчёты?", "-q", "how often are backups taken?", "-q", "zxqv blorp")
    with folder() as place:
        (place / "отчёты.md").write_text("# Отчёты\n\nОтчёты по Альфе выпускают по средам.\n")
        (place / "backups.md").write_text("# Backups\n\nBackups are taken every six hours.\n")
        for known in ("2 stored, 0 known before", "0 stored, 2 known before"):
            done = subprocess.run(
                [*PALIMPSEST, "demo", str(place), *questions], env=environment(place), capture_output=True, text=True,
                timeout=START_TIMEOUT_S,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert known in done.stdout
            assert "No git history here" in done.stderr
            assert "Отчёты по Альфе выпускают по средам." in done.stdout
            assert "Backups are taken every six hours." in done.stdout
            assert done.stdout.count("Nothing relevant: ") == 1
            assert done.stdout.count("Provenance") == 2
            assert (place / ".data" / ".gitignore").read_text() == "*\n"
