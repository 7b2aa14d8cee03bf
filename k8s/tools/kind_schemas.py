"""Makes JSON schemas of Kubernetes' own kinds stand alone: `kind_schemas.py SOURCE FOLDER`.

As they come, they refer to one file of definitions by an address of the package that they are from. Each kind is given
those definitions that it needs, so that any validator can read it.
"""

import json
import sys
from pathlib import Path
from typing import Any

_DEFINITIONS = "_definitions.json"
_REFERENCE = f"/api/{_DEFINITIONS}#/$defs/"


def main(source: Path, folder: Path) -> None:
    """Writes the schema of each kind that can be an object of its own."""
    definitions = json.loads(_local(source / _DEFINITIONS))["$defs"]
    for path in sorted(source.glob("*.json")):
        schema = json.loads(_local(path))
        if {"apiVersion", "kind"} <= schema.get("properties", {}).keys():
            schema["$defs"] = needed(schema, definitions)
            (folder / path.name).write_text(json.dumps(schema), encoding="utf-8")


def needed(schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions that a schema refers to, and those that they refer to."""
    found: dict[str, Any] = {}
    waiting = references(schema)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = definitions[name]
            waiting |= references(definitions[name])
    return found


def references(schema: Any) -> set[str]:
    """Names of the definitions that a schema refers to itself."""
    if isinstance(schema, list):
        return {name for each in schema for name in references(each)}
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].removeprefix("#/$defs/")} if isinstance(schema.get("$ref"), str) else set()
    return own | {name for each in schema.values() for name in references(each)}


def _local(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace(_REFERENCE, "#/$defs/")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
