"""Generates the committed stubs beside their `.proto` files, with the pinned generator of the `dev` extra.

usage: python protos/generate.py [OUT]      OUT defaults to this folder; the staleness test gives it a scratch folder
"""

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent


def generate(out: Path) -> None:
    """Writes `*_pb2.py`, `*_pb2.pyi`, `*_pb2_grpc.py` and `*_pb2_grpc.pyi` under `out`; raises SystemExit on errors."""
    sources = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("palimpsest/v1/*.proto"))
    services = [source for source in sources if source.endswith("_service.proto")]
    include = [f"-I{ROOT}", f"-I{files('grpc_tools') / '_proto'}"]
    plugins = f"--plugin=protoc-gen-mypy_grpc={Path(sys.executable).parent / 'protoc-gen-mypy_grpc'}"
    _protoc(*include, f"--python_out={out}", f"--pyi_out={out}", *sources)
    _protoc(*include, plugins, f"--grpc_python_out={out}", f"--mypy_grpc_out={out}", *services)


def _protoc(*arguments: str) -> None:
    status = protoc.main(["protoc", *arguments])
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
