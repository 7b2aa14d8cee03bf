"""The commits of a repository, oldest first, parsed from one run of `git log`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.sources.git import nul_separated, run_git

# Each record begins with a NUL; the body is closed by the NUL of the format and the one that ends the record. Then come
# the names of files, of which none is empty.
_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%cI", "%B")
_FORMAT = "--format=tformat:%x00" + "%x00".join(_FIELDS) + "%x00"


@dataclass(frozen=True)
class Commit:
    """One commit as git tells it, its texts in UTF-8 with what was none replaced."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    authored_at: str
    """ISO 8601 with the author's offset."""
    committed_at: str
    """ISO 8601 with the committer's offset."""
    message: str
    files: tuple[str, ...]
    """Paths that differ from the first parent; none for a merge."""

    @property
    def subject(self) -> str:
        """The first line of the message that is not empty."""
        return next((line.strip() for line in self.message.splitlines() if line.strip()), "")

    @property
    def author(self) -> str:
        """The author's address, else the name; empty where there is neither."""
        return self.author_email.strip() or self.author_name.strip()


def read_history(folder: Path) -> Iterator[Commit]:
    """The commits that HEAD leads to, parents before children. Raises GitFailed."""
    arguments = ("log", "-z", "--topo-order", "--reverse", "--name-only", "--no-renames", "--no-ext-diff", "--no-color",
                 "--no-notes", "--encoding=UTF-8", _FORMAT)  # fmt: skip
    return parse_history(nul_separated(folder, *arguments))


def count_commits(folder: Path) -> int:
    """The number of commits that HEAD leads to. Raises GitFailed."""
    return int(run_git(folder, "rev-list", "--count", "HEAD"))


def parse_history(parts: Iterator[str]) -> Iterator[Commit]:
    """The commits in the output of `git log`, cut at its NULs. Raises ValueError where it is none."""
    beginning = next(parts, None)
    while beginning is not None:
        if beginning:
            raise ValueError("this is not the output of git log that was asked for")
        fields = [next(parts) for _ in _FIELDS]
        next(parts, None)  # the end of the record
        files, beginning = _files(parts)
        yield _commit(fields, files)


def _files(parts: Iterator[str]) -> tuple[tuple[str, ...], str | None]:
    """The names of files, and the empty part that begins the next record; None at the end."""
    files: list[str] = []
    for part in parts:
        if not part:
            return tuple(files), part
        # git ends the format with a line end before the first name.
        files.append(part if files else part.removeprefix("\n"))
    return tuple(files), None


def _commit(fields: list[str], files: tuple[str, ...]) -> Commit:
    sha, parents, name, email, authored_at, committed_at, message = fields
    return Commit(
        sha=sha, parents=tuple(parents.split()), author_name=name, author_email=email, authored_at=authored_at,
        committed_at=committed_at, message=message.removesuffix("\n"), files=files,
    )  # fmt: skip
