"""A virtual environment for each peer, made once under a cache folder."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.peers.catalogue import Entry

_TOLD = "installed.json"
_VERSIONS = "import importlib.metadata as m, sys; print(*map(m.version, sys.argv[1:]))"


@dataclass(frozen=True)
class Environment:
    """Where a peer's Python is, and what it took to make it."""

    python: Path
    install_s: float | None
    install_processor_s: float | None
    """Of pip: it tells more than the seconds do, where the machine was busy."""
    install_mb: float | None
    versions: dict[str, str]


def here(entry: Entry) -> Environment:
    """The environment that runs this, for a peer whose packages it has."""
    return Environment(Path(sys.executable), None, None, None, dict.fromkeys(entry.shown, "of this environment"))


def environment(cache: Path, entry: Entry) -> Environment:
    """A peer's own. It is made where it is not there yet: seconds of `pip install` without its cache, and what that
    adds to an empty environment. Raises CalledProcessError, whose output says why, where pip fails."""
    folder = cache / entry.name
    if not (folder / _TOLD).exists():
        shutil.rmtree(folder, ignore_errors=True)
        _make(folder, entry)
    told = json.loads((folder / _TOLD).read_text())
    return Environment(**told | {"python": folder / "bin" / "python"})


def _make(folder: Path, entry: Entry) -> None:
    # Programs of an environment name its path, so it is made where it will be; `_TOLD` says that it is whole.
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python, empty_mb = folder / "bin" / "python", _megabytes(folder)
    with tempfile.TemporaryDirectory() as work:
        began, used = time.perf_counter(), _processor_s()
        pip = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", *entry.packages]
        subprocess.run(pip, check=True, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        install_s, processor_s = time.perf_counter() - began, _processor_s() - used
    asked = subprocess.run(
        [str(python), "-c", _VERSIONS, *entry.shown], check=True, capture_output=True, text=True, cwd=folder
    )
    versions = dict(zip(entry.shown, asked.stdout.split(), strict=True))
    added_mb = _megabytes(folder) - empty_mb
    made = Environment(python, round(install_s, 1), round(processor_s, 1), round(added_mb, 1), versions)
    told = asdict(made) | {"python": ""}
    (folder / _TOLD).write_text(json.dumps(told))


def _processor_s() -> float:
    """Of all processes that were begun here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
