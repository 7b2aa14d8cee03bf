"""SH-5: what other teams install is the client alone, and it works with either major version of protobuf."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.contract.contract import PROTOS

# The oldest that the distribution allows, and the newest that there is.
ENVIRONMENTS = {
    "oldest": ("protobuf==6.31.1", "grpcio==1.73.1", "grpcio-status==1.73.1"),
    "newest": ("protobuf>=7,<8",),
}

# What must not come along.
FOREIGN = ("torch", "asyncpg", "numpy", "services", "shared", "cli", "pydantic")

# Says that the index was not reached, rather than that something is wrong with the wheel.
UNREACHABLE = ("NewConnectionError", "NameResolutionError", "Max retries exceeded", "ConnectTimeoutError")

CHECK = f"""
import importlib, importlib.util, pkgutil
import palimpsest.v1
from palimpsest.client import AsyncClient, Client, Tls
import palimpsest.errors, palimpsest.ids
names = sorted(module.name for module in pkgutil.iter_modules(palimpsest.v1.__path__))
assert len(names) > 15, names
for name in names:
    importlib.import_module("palimpsest.v1." + name)
Client("localhost:1").close()
found = [name for name in {FOREIGN!r} if importlib.util.find_spec(name)]
assert not found, found
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's wheel, built from the tree."""
    out = tmp_path_factory.mktemp("wheel")
    command: list[str | Path] = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, PROTOS]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def python(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a clean environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder)
    interpreter = folder / "bin" / "python"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        interpreter,
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
    ]
    done = subprocess.run(
        [*pip, "--only-binary", ":all:", wheel, *ENVIRONMENTS[request.param]],
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    return interpreter


def run(python: Path, *arguments: str | Path) -> str:
    """What a program prints; isolated, so that nothing of this tree is on its path, and with warnings as errors."""
    done = subprocess.run(
        [python, "-I", "-W", "error", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=python.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_holds_the_client_and_nothing_else(wheel: Path) -> None:
    """SH-5: stubs with their types and protos, the client, and no file of the services."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"palimpsest", f"{wheel.name.split('-py3')[0]}.dist-info"}
    assert "palimpsest/py.typed" in names
    assert not [name for name in names if name.endswith((".pyc", ".so"))]


def test_wheel_holds_types_and_source_of_every_stub(wheel: Path) -> None:
    """SH-5: a type checker and another language's generator find what they need."""
    names = set(zipfile.ZipFile(wheel).namelist())
    stubs = [name for name in names if name.endswith(("_pb2.py", "_pb2_grpc.py"))]
    assert len(stubs) > 15
    for name in stubs:
        assert f"{name}i" in names
        assert name.replace("_pb2_grpc.py", ".proto").replace("_pb2.py", ".proto") in names


def test_client_works_where_it_is_installed(python: Path) -> None:
    """SH-5: every module loads, and nothing comes along but gRPC and protobuf."""
    run(python, "-c", CHECK)


def test_ids_are_the_same_where_it_is_installed(python: Path) -> None:
    """OB-2, FA-2: the contract's test vectors hold under every supported protobuf."""
    assert "vectors hold" in run(python, Path(__file__).parent / "id_vectors.py")
