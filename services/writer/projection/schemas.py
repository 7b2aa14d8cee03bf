"""JSON Schemas of keys and attributes. They come from strangers: nothing is fetched, and no expression backtracks."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import jsonschema_rs


class Schema:
    """A compiled JSON Schema. Raises `ValueError`, in words for the caller, where the text is none."""

    def __init__(self, text: str) -> None:
        try:
            self._validator = jsonschema_rs.validator_for(
                text, retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions()
            )
        except (ValueError, jsonschema_rs.ReferencingError):
            raise ValueError("must be a JSON Schema that refers to nothing outside itself") from None

    def breach(self, value: Any) -> str:
        """Which keyword a value breaks, and where in it, in words without any of its content; empty: none."""
        error = next(iter(self._validator.iter_errors(value)), None)
        return f"breaks `{_keyword(error.schema_path)}` of the schema of its kind" if error else ""


def attributes_value(members: Mapping[str, str]) -> dict[str, Any]:
    """The attributes that an assertion sets, as a value to be checked. What it removes is not there."""
    return {name: json.loads(text) for name, text in members.items() if text != "null"}


def _keyword(schema_path: list[Any]) -> str:
    names = [each for each in schema_path if isinstance(each, str)]
    return names[-1] if names else "false"


def _refuse(_: str) -> NoReturn:
    raise ValueError("nothing is fetched")
