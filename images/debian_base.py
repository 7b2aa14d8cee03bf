"""A base for the images, made of Debian's packages, where no registry can be reached.

It stands for the `python:…-slim` of the Dockerfiles: Debian with Python and nothing that installs. A second one has
`python3-venv` besides, for the stage that installs. Both come from the mirror that the machine's own apt uses.
"""

import hashlib
import platform
import subprocess
from pathlib import Path
from typing import NamedTuple

from images.tools import command, output, work_folder

_KEPT_OUT = (
    "./var/cache/apt/*",
    "./var/lib/apt/lists/*",
    "./usr/share/doc/*",
    "./usr/share/locale/*",
    "./usr/share/man/*",
)

# In a mount namespace of its own, in memory: dpkg flushes each file to disk, which takes minutes; and nothing stays
# mounted, whatever happens. Names of hosts are resolved by the machine's own file.
_RECIPE = """
set -eu
mount -t tmpfs -o size=2g,mode=0755 tmpfs "$FOLDER"
debootstrap --variant=minbase --include=python3,ca-certificates "$SUITE" "$FOLDER" "$MIRROR"
tar -C "$FOLDER" $KEPT_OUT -cf "$OUT/base.tar" .
cp -L /etc/resolv.conf "$FOLDER/etc/resolv.conf"
chroot "$FOLDER" apt-get -qq update
DEBIAN_FRONTEND=noninteractive chroot "$FOLDER" apt-get -qq install --yes --no-install-recommends python3-venv
tar -C "$FOLDER" $KEPT_OUT -cf "$OUT/build.tar" .
"""


class Bases(NamedTuple):
    """Names of images in the local store."""

    run: str
    """What an image is built on."""
    build: str
    """What installs into it."""


class Mirror(NamedTuple):
    """Where Debian comes from."""

    site: str
    suite: str


def bases() -> Bases:
    """The two images, made where they are not there yet. Raises CalledProcessError."""
    mirror = machines_mirror()
    mark = hashlib.sha256((_RECIPE + " ".join(_KEPT_OUT)).encode()).hexdigest()[:12]
    names = Bases(*(f"localhost/palimpsest-{kind}:{mirror.suite}-{mark}" for kind in ("base", "base-build")))
    if not all(output("buildah", "images", "--quiet", "--filter", f"reference={name}") for name in names):
        _make(mirror, names)
    return names


def machines_mirror() -> Mirror:
    """Debian's archive of this machine's own release, as its apt knows it. Raises LookupError where there is none."""
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)|$(CODENAME)|$(COMPONENT)|$(ORIGIN)", "Created-By: Packages"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    for line in listed.splitlines():
        site, codename, component, origin = line.split("|")
        if (codename, component, origin) == (suite, "main", "Debian"):
            return Mirror(site, suite)
    raise LookupError(f"apt knows no archive of Debian's release {suite or '(none)'}: run apt-get update, on a Debian")


def _make(mirror: Mirror, names: Bases) -> None:
    folder = work_folder() / "base"
    root = folder / "root"
    root.mkdir(parents=True, exist_ok=True)
    print(f"making a base of Debian {mirror.suite} (once)", flush=True)
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "FOLDER": str(root), "OUT": str(folder), "SUITE": mirror.suite, "MIRROR": mirror.site,
        "KEPT_OUT": " ".join(f"--exclude={pattern}" for pattern in _KEPT_OUT),
    }  # fmt: skip
    with (folder / "log").open("w") as log:
        done = subprocess.run(
            # Without globbing: the patterns are tar's.
            ["unshare", "--mount", "sh", "-fc", _RECIPE],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    if done.returncode:
        print((folder / "log").read_text()[-2000:])
        done.check_returncode()
    for kind, name in zip(("base", "build"), names, strict=True):
        _imported(folder / f"{kind}.tar", name)


def _imported(archive: Path, name: str) -> None:
    """Makes an image of an archive, which it removes."""
    dockerfile = archive.with_suffix(".Dockerfile")
    dockerfile.write_text(f"FROM scratch\nADD {archive.name} /\nENV LANG=C.UTF-8\n")
    build = command(
        "buildah", "build", "--isolation", "chroot", "--quiet", "--tag", name, "--file", dockerfile, archive.parent
    )
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    archive.unlink()
