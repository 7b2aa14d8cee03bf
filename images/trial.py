"""Whether this machine can build the images and run them as their pods are run: `python -m images.trial`.

What `make images` needs and no image is to blame for is tried beforehand, on the bare base: programs, room, a mirror of
Debian, an index of packages, a kernel that mounts and confines. Whoever does not know the machine (continuous
integration) so tells what it lacks from what the images lack.
"""

import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from images.build import ROOT
from images.confinement import confinement, limits
from images.debian_base import bases
from images.index_access import secrets
from images.tools import MissingTools, alone, command, require_tools, work_folder

ROOM_BYTES = 6 << 30
"""On the disk of the store: two bases and three images from nothing take 3.5 GiB at their peak."""

_TRIAL = "localhost/palimpsest-trial:built"
# The first step of each Dockerfile that needs somebody else.
_FETCHES = """
FROM {base}
COPY build-requirements.txt ./
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    python3 -m venv /build && \
    /build/bin/pip install --no-cache-dir --only-binary :all: --require-hashes --requirement build-requirements.txt
"""
# From below a changed root a second program of a pod ends up outside of it.
_IS_INSIDE = "assert open('/proc/1/comm').read() == 'sleep\\n'"
_GROWS = "b'1' * (1 << 30)"
_KILLED = 137


def main() -> None:
    """Ends with 1 and says why where this machine cannot."""
    try:
        require_tools()
        require_room()
        with alone():
            on = bases()
            _fetch(on.build)
        _confine(on.run)
    except (MissingTools, LookupError) as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(map(str, error.cmd[:1]))} failed, see above")
    print("the images can be built and run here")


def require_room() -> None:
    """Raises MissingTools where the disk of the store has too little."""
    folder = work_folder()
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < ROOM_BYTES:
        raise MissingTools(f"images take up to {ROOM_BYTES >> 30} GiB, and {folder} has {free / (1 << 30):.1f}")


def _fetch(base: str) -> None:
    """Builds as the images are built, with the index that they are given. Raises MissingTools."""
    with tempfile.TemporaryDirectory() as folder:
        dockerfile = Path(folder, "Dockerfile")
        dockerfile.write_text(_FETCHES.format(base=base))
        build = command(
            "buildah", "build", "--isolation", "chroot", *limits(), "--pull=never", "--no-cache", "--quiet",
            *secrets(Path(folder)), "--tag", _TRIAL, "--file", dockerfile, ROOT / "images",
        )  # fmt: skip
        done = subprocess.run(build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise MissingTools(f"nothing can be installed here as the images do it: {done.stdout[-2000:]}")
    subprocess.run(command("buildah", "rmi", _TRIAL), check=True, stdout=subprocess.DEVNULL)


def _confine(base: str) -> None:
    """Runs a pod, looks into it, and sees that its limit of memory is one. Raises MissingTools."""
    name, confined = f"palimpsest-trial-{uuid.uuid4().hex[:8]}", (*confinement("64m"), base)
    try:
        _podman("run", "--detach", "--log-driver", "k8s-file", "--name", name, *confined, "sleep", "600")
        _podman("exec", name, "python3", "-c", _IS_INSIDE)
    finally:
        _podman("rm", "--force", "--ignore", "--time", "0", name)
    _podman("run", "--rm", *confined, "python3", "-c", _GROWS, ends_with=_KILLED)


def _podman(*arguments: str, ends_with: int = 0) -> None:
    # What watches a container that runs out of memory leaves a file where it was started.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command("podman", *arguments), cwd=folder, capture_output=True, text=True)
    if done.returncode != ends_with:
        raise MissingTools(
            f"no pod runs here as Kubernetes would run it: podman {arguments[0]} ended with {done.returncode} "
            f"and not {ends_with} {done.stderr[-2000:]}"
        )


if __name__ == "__main__":
    main()
