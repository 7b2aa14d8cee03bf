"""Where built models are kept, and how one is built once however many processes start at the same time."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def default_cache_folder() -> Path:
    """Returns Palimpsest's folder in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    return (Path(root) if os.path.isabs(root) else Path.home() / ".cache") / "palimpsest"


def built_once(cache: Path, name: str, build: Callable[[Path], None]) -> Path:
    """Returns the folder `name` of the cache, after `build` has filled it if it wasn't there.

    A folder appears whole or not at all: it is built under another name and renamed. Processes that come together wait
    for the first. Raises `OSError` when the cache cannot be written.
    """
    folder = cache / name
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{name}.lock"):
        if not folder.is_dir():
            _remove_abandoned(cache, name)
            _build(cache, name, build)
    return folder


def _build(cache: Path, name: str, build: Callable[[Path], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f"{name}.unfinished-", dir=cache))
    try:
        build(unfinished)
        _flush(unfinished)
        unfinished.chmod(0o755)
        unfinished.rename(cache / name)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _flush(folder: Path) -> None:
    """Has the files written to disk, so that a power cut after the rename cannot leave them empty."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _remove_abandoned(cache: Path, name: str) -> None:
    """Removes what a killed build has left; nobody builds while the lock is held."""
    for left_over in cache.glob(f"{name}.unfinished-*"):
        shutil.rmtree(left_over, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
