"""Which Markdown files a folder holds, and when each was last changed, by whom."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from cli.sources.git import GitFailed, Repository, find_repository, has_commits, nul_separated

SUFFIXES = (".md", ".markdown")
# Folders of tools: what lies in them is nobody's knowledge. Hidden ones, `.venv` among them, are left out besides.
SKIPPED_FOLDERS = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})
_LOG_OPTIONS = (
    "-z", "--name-only", "--relative", "--no-renames", "--no-diff-merges", "--no-ext-diff", "--no-color",
    "--encoding=UTF-8", "--format=tformat:%x00%H%x00%cI%x00%an <%ae>",
)  # fmt: skip


@dataclass(frozen=True)
class LastChange:
    """The commit that last changed a file."""

    sha: str
    committed_at: str
    author: str


@dataclass(frozen=True)
class MarkdownFile:
    """A file to read, and what git knows of it."""

    path: str
    """Relative to the folder, with `/`."""
    location: Path
    last_change: LastChange | None
    """None for a file that git does not have in its present form."""

    def modified_at(self) -> datetime:
        """When the file system says that it was changed."""
        return datetime.fromtimestamp(self.location.stat().st_mtime, UTC)


@dataclass(frozen=True)
class MarkdownFolder:
    """A folder with its files by rising path."""

    folder: Path
    files: tuple[MarkdownFile, ...]
    repository: Repository | None

    @property
    def name(self) -> str:
        """What the folder is called as a stream."""
        return self.folder.name or "root"

    def path_in_repository(self, path: str) -> str:
        """A path as its repository has it; as the folder has it where there is no repository."""
        if self.repository is None:
            return path
        return (self.folder.relative_to(self.repository.folder.resolve()) / path).as_posix()


def read_folder(folder: Path) -> MarkdownFolder:
    """Finds the Markdown files of a folder: in a repository those that git does not ignore. Reads no file."""
    folder = folder.resolve()
    repository = find_repository(folder)
    paths = None if repository is None else _not_ignored(folder)
    if paths is None:
        repository, paths = None, list(_walk(folder))
    changes = {} if repository is None else last_changes(folder)
    files = (
        MarkdownFile(path, folder / path, changes.get(path)) for path in sorted(set(paths)) if _is_wanted(folder, path)
    )
    return MarkdownFolder(folder, tuple(files), repository)


def last_changes(folder: Path) -> dict[str, LastChange]:
    """The last commit of each file below the folder whose present form is committed."""
    if not has_commits(folder):
        return {}
    changed = set(_names(folder, "diff", "--name-only", "--no-renames", "--relative", "HEAD"))
    changes: dict[str, LastChange] = {}
    commit = LastChange("", "", "")
    parts = nul_separated(folder, "log", *_LOG_OPTIONS, "--", ".")
    for part in parts:
        if part:  # a name, of the commit that was told of last
            changes.setdefault(part.removeprefix("\n"), commit)
        else:
            commit = LastChange(next(parts), next(parts), next(parts))
    return {path: change for path, change in changes.items() if path not in changed}


def _not_ignored(folder: Path) -> list[str] | None:
    patterns = [f":(icase,glob)**/*{suffix}" for suffix in SUFFIXES]
    try:
        return list(_names(folder, "ls-files", "--cached", "--others", "--exclude-standard", *("--", *patterns)))
    except GitFailed:
        return None


def _names(folder: Path, command: str, *arguments: str) -> Iterator[str]:
    return (name for name in nul_separated(folder, command, "-z", *arguments) if name)


def _walk(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_skipped(name)]
        relative = Path(place).relative_to(folder)
        yield from ((relative / name).as_posix() for name in names if name.lower().endswith(SUFFIXES))


def _is_wanted(folder: Path, path: str) -> bool:
    """Links are left out: they lead to what is read under its own name, or out of the folder."""
    location = folder / path
    return not _any_skipped(PurePosixPath(path).parts[:-1]) and location.is_file() and not location.is_symlink()


def _any_skipped(folders: Iterable[str]) -> bool:
    return any(_is_skipped(name) for name in folders)


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED_FOLDERS
