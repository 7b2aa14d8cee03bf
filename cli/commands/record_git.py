"""`palimpsest record-git`: a repository's history as observations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cli.failure import ExitCode, Failure
from cli.options import Connection, Data, Json, Namespace, Target, connected
from cli.output import note
from cli.recording import Fate, Item, Outcome, Recorder
from cli.reporting import report
from cli.sources.commits import observe_commit
from cli.sources.git import GitFailed, Repository, find_repository, has_commits
from cli.sources.git_history import count_commits, read_history


def record_git(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of the repository.")] = Path("."),
    namespace: Namespace = "default",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Store the history of a git repository: one observation a commit, with its author, time, parents and files.

    The repository is only read. Running it again, or after it was broken off, stores only the commits that are new.
    """
    repository = find_repository(folder)
    if repository is None:
        raise Failure(f"{folder}: no git repository that git would read", ExitCode.USAGE)
    if not has_commits(folder):
        note(f"{folder}: the repository has no commits yet")
        raise typer.Exit(ExitCode.NOTHING)
    with connected(target, data) as connection:
        record_history(connection, repository, folder, namespace, as_json=as_json)


def record_history(
    connection: Connection, repository: Repository, folder: Path, namespace: str, *, as_json: bool
) -> None:
    """Stores the commits that HEAD leads to, and reports."""
    # A commit never changes; what differs is from where it was read: another branch, a remote that was added.
    recorder = Recorder(connection.client, conflict_is_known=True)
    try:
        outcomes = recorder.record(_items(repository, folder, namespace))
        report(outcomes, what="Commits", total=count_commits(folder), as_json=as_json)
    except GitFailed as failure:
        raise Failure(f"git: {failure}") from None


def _items(repository: Repository, folder: Path, namespace: str) -> Iterator[Item | Outcome]:
    for commit in read_history(folder):
        label = f"commit {commit.sha[:12]}"
        try:
            yield Item(label, namespace, observe_commit(commit, repository))
        except (ValueError, OverflowError):
            yield Outcome(label, Fate.REFUSED, "its time is not one between the years 0001 and 9999")
