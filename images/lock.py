"""Locks what the images install: `python -m images.lock`.

Each file names every package with its version and the checksums of its files, so that a build next year installs the
same. Versions are those of the environment that runs this: an image holds what the tests ran with.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m images.lock"

OWN = ("palimpsest-memory", "palimpsest-memory-services")
"""The distributions of this repository: they come from its files, and are in no lock."""

LOCKS = {
    "images/build-requirements.txt": ("hatchling",),
    "images/writer/requirements.txt": ("./protos", ".[writer,cli,otlp]"),
    "images/reader/requirements.txt": ("./protos", ".[reader,otlp]"),
    "images/embedder/requirements-bundled.txt": ("./protos", ".[bundled,otlp]"),
    "images/embedder/requirements-sentence-transformers.txt": ("./protos", ".[embedder,otlp]"),
}
"""What is asked for, by the file that tells what comes of it."""


def main() -> None:
    """Writes all locks. Raises CalledProcessError where no versions fit together."""
    for file, wanted in LOCKS.items():
        (ROOT / file).write_text(locked(wanted))
        print(file)


def locked(wanted: tuple[str, ...]) -> str:
    """The text of a lock, for Linux on any processor and any Python that the project supports."""
    with tempfile.TemporaryDirectory() as folder:
        asked, tested = Path(folder, "requirements.in"), Path(folder, "tested.txt")
        asked.write_text("\n".join(wanted) + "\n")
        tested.write_text("\n".join(_installed()) + "\n")
        command: list[str | Path] = [
            Path(sys.executable).parent / "uv", "pip", "compile", asked, "--constraints", tested,
            "--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--quiet",
            # A header of uv's own would name the folder above, and another one each time.
            "--no-header",
        ]  # fmt: skip
        for name in OWN:
            command += ["--no-emit-package", name]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return f"# Made by `{COMMAND}`; do not edit.\n{done.stdout}"


def _installed() -> list[str]:
    found = {one.name.lower().replace("_", "-"): one.version for one in distributions()}
    return [f"{name}=={version}" for name, version in sorted(found.items()) if name not in OWN]


if __name__ == "__main__":
    main()
