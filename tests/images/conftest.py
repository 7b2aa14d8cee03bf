"""The containers of a whole system, beside a Postgres of the session. Collected by `make images` alone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.images.pods import Settings, System, running_system

# They need root, a container runtime and images that were built before: no part of the ordinary suite.
collect_ignore_glob = [] if os.environ.get("PALIMPSEST_IMAGES") else ["test_*.py"]


@pytest.fixture(scope="module")
def settings(postgres, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """What the pods of a module are given: a database of their own, ports, grants and tokens."""
    return Settings.made(postgres, tmp_path_factory.mktemp("mounted"))


@pytest.fixture(scope="module")
def system(settings: Settings) -> Iterator[System]:
    """The schema, made by the writer's image, and the three services, serving."""
    with running_system(settings) as running:
        yield running


@pytest.fixture
def drained(postgres, tmp_path: Path) -> Iterator[System]:
    """A system for one test, which stops it."""
    with running_system(Settings.made(postgres, tmp_path)) as running:
        yield running
