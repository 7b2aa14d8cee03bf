"""Asks git about a repository, and never changes it."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit

_CHUNK_BYTES = 1 << 16
# Settings of a repository that would run a program of its choice, or change the form of an answer.
_SETTINGS = ("core.fsmonitor=false", "core.quotePath=false", "log.showSignature=false", "log.showRoot=true")
# A hook that calls us has set these for its own repository, which need not be the folder's.
_NAMES_ANOTHER = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"}
)
_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:]+):(?P<path>[^/].*)")


class GitFailed(Exception):
    """git is not installed, or refused; the message is what it said."""


@dataclass(frozen=True)
class Repository:
    """A repository, as it is called in provenance."""

    folder: Path
    """Its root."""
    name: str
    """Last part of the origin's address, else the folder's name."""
    address: str
    """Address of the origin, as a page where that can be told; without credentials. Empty where there is none."""
    branch: str
    """The branch that is checked out; empty on a detached head."""

    def commit_uri(self, sha: str) -> str:
        """Where a commit can be looked at."""
        page = self.address.startswith("http")
        return f"{self.address}/commit/{sha}" if page else f"git:{self.name}@{sha}"

    def file_uri(self, sha: str, path: str) -> str:
        """Where a file can be looked at, as it was in a commit."""
        page = self.address.startswith("http")
        return f"{self.address}/blob/{sha}/{quote(path)}" if page else f"git:{self.name}@{sha}:{quote(path)}"


def find_repository(folder: Path) -> Repository | None:
    """The repository that a folder lies in; None where it lies in none, or git is not installed."""
    try:
        root = Path(run_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    except GitFailed:
        return None
    address = page_address(_asked(folder, "config", "--get", "remote.origin.url"))
    name = address.rpartition("/")[2].rpartition(":")[2].strip(".") or root.name or "repository"
    return Repository(root, name, address, _asked(folder, "symbolic-ref", "--short", "-q", "HEAD"))


def page_address(remote: str) -> str:
    """A remote's address without credentials and `.git`; one of ssh as the page it most likely has."""
    bare = remote.strip().rstrip("/").removesuffix(".git").removesuffix("/.").rstrip("/")
    if "://" not in bare:
        scp = _SCP_LIKE.fullmatch(bare)
        return f"https://{scp['host']}/{scp['path']}" if scp else bare
    parts = urlsplit(bare)
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme in ("ssh", "git"):
        return f"https://{host.partition(':')[0]}{parts.path}"
    return f"{parts.scheme}://{host}{parts.path}"


def has_commits(folder: Path) -> bool:
    """Whether there is any history to read."""
    return bool(_asked(folder, "rev-parse", "--verify", "-q", "HEAD"))


def run_git(folder: Path, *arguments: str) -> str:
    """What git prints; bytes that are no UTF-8 are replaced. Raises GitFailed."""
    with _started(folder, arguments) as output:
        return output.read().decode("utf-8", "replace")


def nul_separated(folder: Path, *arguments: str) -> Iterator[str]:
    """The parts of what git prints between NULs, as they come. Raises GitFailed."""
    with _started(folder, arguments) as output:
        rest = b""
        while chunk := output.read(_CHUNK_BYTES):
            *parts, rest = (rest + chunk).split(b"\0")
            yield from (part.decode("utf-8", "replace") for part in parts)
        if rest:
            yield rest.decode("utf-8", "replace")


def _asked(folder: Path, *arguments: str) -> str:
    """The one line that git answers, or nothing."""
    try:
        return run_git(folder, *arguments).strip()
    except GitFailed:
        return ""


@contextmanager
def _started(folder: Path, arguments: tuple[str, ...]) -> Iterator[IO[bytes]]:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    environment = {name: value for name, value in os.environ.items() if name not in _NAMES_ANOTHER}
    command = ["git", *settings, "--no-optional-locks", "-C", str(folder), *arguments]
    # Complaints go to a file: a pipe that nobody reads would stop git when it is full.
    with tempfile.TemporaryFile() as complaints, _process(command, environment, complaints) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            process.kill()
            raise
        if process.wait() != 0:
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace").strip()
            raise GitFailed(said.splitlines()[0] if said else f"git ended with {process.returncode}")


def _process(command: list[str], environment: dict[str, str], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, env=environment | {"LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=complaints,
        )  # fmt: skip
    except OSError as error:
        raise GitFailed(f"git cannot be run: {error.strerror}") from None
