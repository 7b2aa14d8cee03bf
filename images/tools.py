"""The programs that build and run the images on a machine without a container engine, and the folder they work in.

All of them are Debian's: buildah, podman, runc and debootstrap. They need root, and no daemon.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = {"buildah": "buildah", "podman": "podman", "runc": "runc", "debootstrap": "debootstrap"}
"""Each with the package of Debian that brings it."""

_STORAGE_DRIVER = "overlay"


class MissingTools(Exception):
    """What builds the images is not there, and cannot be installed."""


def work_folder() -> Path:
    """Where images, bases and bills of materials are kept between runs: in the user's cache, outside any checkout."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(root) if os.path.isabs(root) else Path.home() / ".cache"
    return cache / "palimpsest-tools" / "images"


def require_tools() -> None:
    """Installs what is missing. Raises MissingTools where that is not possible."""
    missing = sorted(package for program, package in PROGRAMS.items() if shutil.which(program) is None)
    if os.geteuid() != 0:
        raise MissingTools(f"images are built by root here; root also needs: {', '.join(missing) or 'nothing more'}")
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise MissingTools(f"missing, and there is no apt-get to install it: {', '.join(missing)}")
    print(f"installing {', '.join(missing)}", flush=True)
    quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
        if subprocess.run(["apt-get", "--quiet", "--quiet", *arguments], check=False, **quiet).returncode:  # type: ignore[call-overload]
            raise MissingTools(f"apt-get {arguments[0]} failed; install by hand: {', '.join(missing)}")


@contextmanager
def alone() -> Iterator[None]:
    """One build at a time, of whichever checkout: they share the store."""
    (work_folder() / "output").mkdir(parents=True, exist_ok=True)
    with (work_folder() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def command(program: str, *arguments: str | Path) -> list[str | Path]:
    """A command of buildah or podman on a store of our own: the machine's images are not touched."""
    store: Sequence[str | Path] = (
        "--root", work_folder() / "storage", "--runroot", "/run/palimpsest-images", "--storage-driver", _STORAGE_DRIVER,
    )  # fmt: skip
    return [program, *store, *arguments]


def output(program: str, *arguments: str | Path) -> str:
    """What such a command prints. Raises CalledProcessError, after its errors were shown."""
    done = subprocess.run(command(program, *arguments), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        done.check_returncode()
    return done.stdout.strip()
