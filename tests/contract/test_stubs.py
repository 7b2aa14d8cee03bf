"""SH-5: the committed stubs are those that the contract gives."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.contract import PROTOS


def stubs(folder: Path) -> dict[str, str]:
    """The generated files under a folder, by their path in it."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*_pb2*")
        if path.suffix in {".py", ".pyi"} and "build" not in path.parts
    }


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the generator makes of the contract now."""
    out = tmp_path_factory.mktemp("stubs")
    subprocess.run([sys.executable, PROTOS / "generate.py", out], check=True, timeout=120)
    return stubs(out)


def test_stubs_are_fresh(fresh: dict[str, str]) -> None:
    """SH-5: every committed stub is, byte for byte, what the generator makes; none is missing, none is left over."""
    committed = stubs(PROTOS)
    assert sorted(committed) == sorted(fresh)
    assert [name for name in fresh if fresh[name] != committed[name]] == []


def test_every_proto_has_its_stubs(fresh: dict[str, str]) -> None:
    """SH-5: module and types of every file, and the service stubs of every service file."""
    for path in PROTOS.glob("palimpsest/v1/*.proto"):
        endings = ["_pb2.py", "_pb2.pyi"]
        endings += ["_pb2_grpc.py", "_pb2_grpc.pyi"] if path.stem.endswith("_service") else []
        assert {f"palimpsest/v1/{path.stem}{ending}" for ending in endings} <= set(fresh)
