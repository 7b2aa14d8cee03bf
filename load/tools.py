"""ghz, built once from its pinned version into the user's cache, outside of any clone.

usage: python -m load.tools    builds it where it is missing, and prints its path
"""

import os
import shutil
import subprocess
from pathlib import Path

PACKAGE = "github.com/bojand/ghz/cmd/ghz"
VERSION = "v0.121.0"


def ghz_path() -> Path:
    """Where ghz of this version is, or is to be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "palimpsest-tools" / "bin" / f"ghz-{VERSION}" / "ghz"


def built_ghz() -> Path:
    """ghz, built where it is missing: minutes, once. Ends the program where that is not possible."""
    path = ghz_path()
    if path.exists():
        return path
    if not shutil.which("go"):
        raise SystemExit(f"ghz {VERSION} is not at {path}, and without Go (1.24 or newer) it cannot be built")
    print(f"Building ghz {VERSION} (once, some minutes)", flush=True)
    # Beside its place, so that an interrupted build leaves none.
    fresh = path.parent.with_suffix(".new")
    command = ["go", "install", f"{PACKAGE}@{VERSION}"]
    try:
        subprocess.run(command, env=os.environ | {"GOBIN": str(fresh), "GOFLAGS": ""}, check=True)
    except subprocess.CalledProcessError:
        raise SystemExit(f"{' '.join(command)} failed") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    (fresh / "ghz").replace(path)
    fresh.rmdir()
    return path


if __name__ == "__main__":
    print(built_ghz())
