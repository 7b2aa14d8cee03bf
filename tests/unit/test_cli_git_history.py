"""Commits as git tells them, and as observations."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.sources.commits import MOST_FILES, observe_commit
from cli.sources.git import GitFailed, Repository, find_repository, has_commits, page_address
from cli.sources.git_history import Commit, count_commits, parse_history, read_history

Git = Callable[..., str]
MOMENT = "2026-03-01T00:30:00+03:00"
REPOSITORY = Repository(Path("/r"), "memory", "https://host/team/memory", "main")


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Runs git in a fresh repository, with an author of its own and no settings of the machine's."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(tmp_path),
        "GIT_AUTHOR_NAME": "Анна", "GIT_AUTHOR_EMAIL": "anna@example.org", "GIT_AUTHOR_DATE": MOMENT,
        "GIT_COMMITTER_NAME": "Анна", "GIT_COMMITTER_EMAIL": "anna@example.org", "GIT_COMMITTER_DATE": MOMENT,
    }  # fmt: skip

    def run(*arguments: str, **changed: str) -> str:
        command = ["git", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, env=environment | changed, check=True, capture_output=True, text=True).stdout

    run("init", "-q", "-b", "main")
    return run


def commit(git: Git, message: str, *options: str, **changed: str) -> str:
    git(
        "commit",
        "-q",
        "--allow-empty",
        "--allow-empty-message",
        "--cleanup=verbatim",
        "-m",
        message,
        *options,
        **changed,
    )
    return git("rev-parse", "HEAD").strip()


AWKWARD = (
    "",
    "one line",
    "subject\n\nbody\n\n\n  indented, and empty lines kept",
    "\n\nno first line",
    "diff --git a/x b/x\n:100644 100644 0000 0000 M\tx",
    "commit 0123456789012345678901234567890123456789\nAuthor: somebody",
    "tab\tand «кавычки» and 🙂 and \u2028 a line separator",
    "%H%x00%n is no format",
)


@pytest.mark.parametrize("message", AWKWARD)
def test_message_comes_back_as_it_was(git: Git, tmp_path: Path, message: str) -> None:
    """OB-8: a message that looks like git's own output is still a message, between commits that have files."""
    (tmp_path / "first.txt").write_text("1")
    git("add", ".")
    first = commit(git, "first")
    middle = commit(git, message)
    (tmp_path / "first.txt").write_text("2")
    last = commit(git, "last", "-a")
    found = list(read_history(tmp_path))
    assert [one.sha for one in found] == [first, middle, last]
    assert [one.message for one in found] == ["first", message, "last"]
    assert [one.files for one in found] == [("first.txt",), (), ("first.txt",)]
    assert count_commits(tmp_path) == 3


def test_names_of_files_come_back_as_they_are(git: Git, tmp_path: Path) -> None:
    names = {"с пробелом.md", "line\nend.txt", "\nfirst", 'quote".txt', "back\\slash"}
    for name in names:
        (tmp_path / name).write_text("x")
    git("add", ".")
    commit(git, "names")
    [found] = read_history(tmp_path)
    assert set(found.files) == names


def test_other_encodings_become_utf_8(git: Git, tmp_path: Path) -> None:
    """A message in CP1251 that says so is read as such; bytes that are nothing are replaced, and the commit is kept."""
    text = tmp_path / "text"
    text.write_bytes("привет".encode("cp1251"))
    git("-c", "i18n.commitEncoding=windows-1251", "commit", "-q", "--allow-empty", "-F", str(text))
    raw = subprocess.run(["git", "-C", tmp_path, "cat-file", "commit", "HEAD"], check=True, capture_output=True).stdout
    # git itself would not write this, but old tools have.
    text.write_bytes(raw.partition(b"\nencoding ")[0] + b"\n\ncaf\xe9 \xff\xfe\n")
    broken = git("hash-object", "-t", "commit", "-w", str(text)).strip()
    assert [one.message for one in read_history(tmp_path)] == ["привет"]
    git("update-ref", "HEAD", broken)
    assert [one.message for one in read_history(tmp_path)] == ["caf\ufffd \ufffd\ufffd"]


def test_a_merge_names_its_parents_and_no_files(git: Git, tmp_path: Path) -> None:
    commit(git, "root")
    git("checkout", "-q", "-b", "side")
    (tmp_path / "side.txt").write_text("x")
    git("add", ".")
    side = commit(git, "side")
    git("checkout", "-q", "main")
    main = commit(git, "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    merge = list(read_history(tmp_path))[-1]
    assert merge.parents == (main, side)
    assert merge.files == ()


def test_an_empty_repository_and_no_repository(git: Git, tmp_path: Path) -> None:
    assert find_repository(tmp_path) is not None
    assert not has_commits(tmp_path)
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    assert find_repository(outside) is None
    with pytest.raises(GitFailed):
        list(read_history(outside))


def test_a_hook_that_calls_us_does_not_turn_us_to_its_repository(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    sha = commit(git, "here", GIT_DIR=str(tmp_path / ".git"))
    assert [one.sha for one in read_history(tmp_path)] == [sha]


def test_output_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="not the output"):
        list(parse_history(iter(["fatal", "x"])))


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://user:secret@host/team/memory.git", "https://host/team/memory"),
        ("http://host:8080/team/memory/", "http://host:8080/team/memory"),
        ("git@host:team/memory.git", "https://host/team/memory"),
        ("ssh://git@host:2222/team/memory", "https://host/team/memory"),
        ("/srv/git/memory.git", "/srv/git/memory"),
        ("/srv/memory/.git", "/srv/memory"),
        ("/srv/memory/.", "/srv/memory"),
        ("", ""),
    ],
)
def test_an_address_has_no_credentials(remote: str, address: str) -> None:
    """CP-3: a token in a remote's address is not stored."""
    assert page_address(remote) == address


def a_commit(**changed: object) -> Commit:
    fields: dict[str, object] = {
        "sha": "a" * 40, "parents": ("b" * 40,), "author_name": "Анна", "author_email": "anna@example.org",
        "authored_at": "2026-02-28T10:00:00+03:00", "committed_at": "2026-03-01T00:30:00+03:00",
        "message": "Fix retries\n\nThey doubled.", "files": ("src/retry.py",),
    }  # fmt: skip
    return Commit(**{**fields, **changed})  # type: ignore[arg-type]


def test_a_commit_as_an_observation() -> None:
    """OB-1, OB-5: its identity is the sha, its time the committer's moment in UTC, its text the message."""
    observation = observe_commit(a_commit(), REPOSITORY)
    assert (observation.source.system, observation.source.stream) == ("git", "memory")
    assert observation.source.external_id == "a" * 40
    assert observation.occurred_at.ToJsonString() == "2026-02-28T21:30:00Z"
    assert observation.content == "Fix retries\n\nThey doubled."
    assert (observation.actor.type, observation.actor.id) == ("person", "anna@example.org")
    entity = observation.assertions[0].entity
    assert (entity.kind, entity.title, entity.author) == ("commit", "Fix retries", "anna@example.org")
    links = [(one.link.relation, one.link.entity.typed.id) for one in observation.assertions[1:]]
    assert links == [("CHILD_OF", "b" * 40), ("MENTIONS", "src/retry.py")]
    assert observation.provenance.uri == f"https://host/team/memory/commit/{'a' * 40}"
    assert observation.provenance.extra["committed_at_local"] == "2026-03-01T00:30:00+03:00"


def test_a_huge_commit_stays_within_the_contract() -> None:
    files = ("bad\nname", *(f"f{number}" for number in range(5000)))
    observation = observe_commit(a_commit(files=files, parents=tuple("c" * 40 for _ in range(300))), REPOSITORY)
    assert len(observation.assertions) <= 200
    mentioned = [one.link.entity.typed.id for one in observation.assertions if one.link.relation == "MENTIONS"]
    assert len(mentioned) == MOST_FILES
    assert "bad\nname" not in mentioned


def test_an_author_who_is_unknown_is_left_out() -> None:
    observation = observe_commit(a_commit(author_name="", author_email=" "), REPOSITORY)
    assert not observation.HasField("actor")
    assert not observation.assertions[0].entity.HasField("author")


def test_a_time_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(ValueError, match="isoformat"):
        observe_commit(a_commit(committed_at="60000-01-01T00:00:00+00:00"), REPOSITORY)
