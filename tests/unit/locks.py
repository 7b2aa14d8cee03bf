"""Reads the locks of the images."""

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "platform_python_implementation": "CPython"}


def requirements(text: str) -> Iterator[Requirement]:
    """The entries of a lock, without their checksums."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield Requirement(line.split(" --hash")[0])


def locked_versions(text: str, *, python: str) -> dict[str, str]:
    """Versions by name, of what is installed on Linux with that Python."""
    environment = {
        **LINUX,
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
    }
    return {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for one in requirements(text)
        if one.marker is None or one.marker.evaluate(environment)
    }
