"""JSON schemas of custom resources, from their definitions: `definition_schemas.py DEFINITIONS FOLDER`.

As strict as the others: a field that the definition does not know is a fault. The apiserver would drop it in silence.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_ANY_METADATA = {"type": "object"}


def schemas(definition: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """File name, as kubeconform looks for it, and schema of each version of a definition."""
    spec = definition["spec"]
    group = spec["group"].partition(".")[0]
    for version in spec["versions"]:
        schema = strict(version["schema"]["openAPIV3Schema"])
        # What all resources have, which definitions leave open.
        schema["properties"] |= {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": _ANY_METADATA,
        }
        yield f"{spec['names']['kind'].lower()}-{group}-{version['name']}.json", schema


def strict(schema: Any) -> Any:
    """The schema, without Kubernetes' own words, and with nothing allowed that it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    made = {key: strict(value) for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not is_open:
        made["additionalProperties"] = False
    return made


def main(definitions: Path, folder: Path) -> None:
    """Writes the schemas of all definitions of a folder."""
    for path in sorted(definitions.glob("*.yaml")):
        for definition in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            for name, schema in schemas(definition) if definition else ():
                (folder / name).write_text(json.dumps(schema), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
