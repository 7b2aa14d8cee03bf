"""The walls between the parts of the system, as rules on the syntax tree of each file."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

SERVICES = ("writer", "reader", "embedder")
VAGUE = ("util", "utils", "common", "helper", "helpers", "manager", "managers", "base")
"""What a name must not say: it says nothing."""

WORD = re.compile(r"[A-Z][a-z]*")
NEXT_SENTENCE = re.compile(r"[.!?]\s+[A-Z`]")

MODEL_LIBRARIES = ("torch", "sentence_transformers", "transformers", "onnxruntime")


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name; for `from a import b` both `a` and `a.b`."""

    module: str
    line: int


def violations(path: str, source: str) -> list[str]:
    """What breaks a wall in the file at `path`, relative to the root of the system."""
    place = PurePosixPath(path)
    imports = list(_imports(source))
    found = [f"{path}:{one.line}: imports {one.module}: {why}" for one in imports for why in _import_rules(place, one)]
    found += [f"{path}: {why}" for why in _name_rules(place)]
    found += [f"{path}: {why}" for why in _package_rules(place, source)]
    found += [f"{path}:{line}: {why}" for line, why in _definition_rules(source)]
    return found


def _imports(source: str) -> Iterator[Import]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Import(name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield Import(module, node.lineno)
            yield from (Import(f"{module}.{name.name}", node.lineno) for name in node.names)


def _import_rules(place: PurePosixPath, imported: Import) -> Iterator[str]:
    module, service = imported.module, _service(place)
    if module.startswith("."):
        yield "imports are absolute"
    if place.parts[0] == "shared" and _is(module, "services"):
        yield "shared imports no service"
    if service and any(_is(module, f"services.{other}") for other in SERVICES if other != service):
        yield "a service imports no other service"
    if _is(module, "asyncpg") and not _may_ask_the_database(place):
        yield "only stores, shared/database.py and shared/schema/ import asyncpg"
    if any(_is(module, library) for library in MODEL_LIBRARIES) and "backends" not in place.parts:
        yield "only a backend imports a model's library"
    if _is_generated(module) and not _may_read_messages(place, module):
        yield "only servicers, mappers, clients, interceptors and the projection import messages"


def _name_rules(place: PurePosixPath) -> Iterator[str]:
    for part in (*place.parts[:-1], place.stem):
        if any(word in VAGUE for word in part.lower().split("_")):
            yield f"{part} says nothing"


def _package_rules(place: PurePosixPath, source: str) -> Iterator[str]:
    if place.name != "__init__.py":
        return
    tree = ast.parse(source)
    text = ast.get_docstring(tree) or ""
    if len(tree.body) != 1 or not text:
        yield "holds one sentence, and nothing else"
    elif NEXT_SENTENCE.search(text) or not text.endswith("."):
        yield "holds one sentence"


def _definition_rules(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and any(word.lower() in VAGUE for word in WORD.findall(node.name)):
            yield node.lineno, f"{node.name} says nothing"


def _service(place: PurePosixPath) -> str:
    """The service that a file is of; empty for one of none."""
    is_of_one = len(place.parts) > 2 and place.parts[0] == "services"
    return place.parts[1] if is_of_one else ""


def _is(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _is_generated(module: str) -> bool:
    return "_pb2" in module and module.startswith("palimpsest.")


def _may_ask_the_database(place: PurePosixPath) -> bool:
    if place.parts[0] == "services":
        return place.stem == "store" or place.stem.endswith("_store")
    # Outside services and shared the database is asked by what measures it or sets it up.
    return place.parts[0] != "shared" or place.parts[1] in ("database.py", "schema")


def _may_read_messages(place: PurePosixPath, module: str) -> bool:
    if place.parts[0] == "shared":
        limits = module.startswith(("palimpsest.v1.limits_pb2", "palimpsest.v1.reference_pb2"))
        return "interceptors" in place.parts or (limits and place.name in ("validation.py", "field_rules.py"))
    if place.parts[0] == "services":
        named = place.stem in ("servicer", "messages", "__main__") or place.stem.endswith(("_client", "_messages"))
        return named or place.parts[1:3] == ("writer", "projection")
    return True
