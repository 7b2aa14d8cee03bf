"""Builds the images from their Dockerfiles, without a container engine: `python -m images.build [SERVICE…]`.

Each is linted first and described afterwards: its bill of materials lies beside the store.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from images.bill_of_materials import write_bill
from images.confinement import limits
from images.debian_base import Bases, bases
from images.index_access import secrets
from images.tools import MissingTools, alone, command, output, require_tools, work_folder

ROOT = Path(__file__).resolve().parent.parent
SERVICES = ("writer", "reader", "embedder")
MIB = 1024 * 1024


def main() -> None:
    """Builds what the arguments name, or all. Ends with 1 where something is missing, or a step fails."""
    services = sys.argv[1:] or SERVICES
    if unknown := sorted(set(services) - set(SERVICES)):
        sys.exit(f"no such image: {', '.join(unknown)}; there are {', '.join(SERVICES)}")
    try:
        require_tools()
        with alone():
            _build_all(services)
    except (MissingTools, LookupError) as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(map(str, error.cmd[:1]))} failed, see above")


def image_name(service: str) -> str:
    """The name of an image in the local store."""
    return f"localhost/palimpsest-{service}:built"


def bill_of(service: str) -> Path:
    """Where an image's bill of materials is written."""
    return work_folder() / "output" / f"palimpsest-{service}.cdx.json"


def dockerfile(service: str) -> Path:
    """The Dockerfile of a service."""
    return ROOT / "images" / service / "Dockerfile"


def _build_all(services: Sequence[str]) -> None:
    for service in services:
        subprocess.run([Path(sys.executable).parent / "hadolint", dockerfile(service)], check=True)
    with _timed("bases"):
        on = bases()
    for service in services:
        with _timed(service):
            _build(service, on)
    with _timed("bills of materials"):
        for service in services:
            write_bill(image_name(service), f"palimpsest-{service}", bill_of(service))
    for service in services:
        size = int(output("podman", "image", "inspect", "--format", "{{.Size}}", image_name(service)))
        base = int(output("podman", "image", "inspect", "--format", "{{.Size}}", on.run))
        print(f"{service}: {size / MIB:.0f} MiB, of which the base {base / MIB:.0f}", flush=True)


def _build(service: str, on: Bases) -> None:
    with tempfile.TemporaryDirectory() as folder:
        build = command(
            "buildah", "build", "--isolation", "chroot", *limits(), "--pull=never", "--layers", "--quiet",
            "--format", "oci", "--build-arg", f"BASE_IMAGE={on.run}", "--build-arg", f"BUILD_IMAGE={on.build}",
            *secrets(Path(folder)), "--tag", image_name(service), "--file", dockerfile(service), ROOT,
        )  # fmt: skip
        log = work_folder() / "output" / f"{service}.log"
        with log.open("w") as lines:
            done = subprocess.run(build, stdout=lines, stderr=subprocess.STDOUT)
    if done.returncode:
        print(log.read_text()[-6000:])
        done.check_returncode()


@contextmanager
def _timed(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
