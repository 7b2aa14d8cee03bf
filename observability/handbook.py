"""Writes the tables of docs/operations.md that the code knows best: settings and metrics. `make observability`."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector
from pydantic_settings import BaseSettings

from shared.telemetry import registry

ROOT = Path(__file__).parents[1]
HANDBOOK = ROOT / "docs" / "operations.md"
_TABLE = re.compile(r"(<!-- written by make observability: (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)
# What settings are of, in the order of the handbook; a prefix that is missing here comes last.
_OPENING = ("PALIMPSEST_", "PALIMPSEST_JWT_", "PALIMPSEST_WRITER_")


def modules(*signs: str) -> Iterator[str]:
    """Modules of the system whose text has one of the signs."""
    for folder in ("services", "shared"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(sign in path.read_text() for sign in signs):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts)


def collectors() -> list[Collector]:
    """What makes the metrics, after all modules that make some are loaded."""
    for module in modules("prometheus_client import"):
        importlib.import_module(module)
    return list(dict.fromkeys(registry._collector_to_names))


def metrics() -> dict[str, tuple[str, set[str], str]]:
    """Type, labels and description of each metric, by its name without suffix."""
    found: dict[str, tuple[str, set[str], str]] = {}
    for collector in collectors():
        if isinstance(collector, MetricWrapperBase):
            found[collector._name] = (collector._type, set(collector._labelnames), collector._documentation)
            continue
        for family in collector.collect():
            labels = {label for sample in family.samples for label in sample.labels}
            found[family.name] = (family.type, labels, family.documentation)
    return found


def settings() -> list[type[BaseSettings]]:
    """All classes of settings, those that the services share first."""
    for module in modules("pydantic_settings import"):
        importlib.import_module(module)
    ours = [each for each in BaseSettings.__subclasses__() if each.__module__.startswith(("services.", "shared."))]
    order = {prefix: place for place, prefix in enumerate(_OPENING)}
    return sorted(ours, key=lambda each: (order.get(_prefix(each), len(order)), _prefix(each), each.__name__))


def settings_table() -> str:
    """One row a variable."""
    lines = ["| variable | default | what |", "| --- | --- | --- |"]
    for each in settings():
        told = _docstrings(each)
        for name, field in each.model_fields.items():
            if isinstance(field.default_factory, type) and issubclass(field.default_factory, BaseSettings):
                continue
            what = "; ".join(filter(None, (field.description or told.get(name, ""), _choices(field.annotation))))
            lines.append(f"| `{_prefix(each)}{name.upper()}` | {_default(field.default)} | {_cell(what)} |")
    return "\n".join(lines)


def metrics_table() -> str:
    """One row a metric of ours."""
    lines = ["| metric | type | labels | what |", "| --- | --- | --- | --- |"]
    for name, (kind, labels, what) in sorted(metrics().items()):
        if not name.startswith("palimpsest_"):
            continue
        full = f"{name}_total" if kind == "counter" else name
        lines.append(f"| `{full}` | {kind} | {', '.join(sorted(labels))} | {_cell(what)} |")
    return "\n".join(lines)


def written(text: str) -> str:
    """The handbook with its tables as they are now."""
    tables = {"settings": settings_table, "metrics": metrics_table}
    return _TABLE.sub(lambda found: f"{found[1]}\n{tables[found[2]]()}\n{found[3]}", text)


def _prefix(each: type[BaseSettings]) -> str:
    return str(each.model_config.get("env_prefix", ""))


def _default(value: Any) -> str:
    if value is None or value == "":
        return ""
    text = f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{_cell(text)}`"


def _choices(annotation: Any) -> str:
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    return ", ".join(f"`{value}`" for value in values)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _docstrings(each: type[BaseSettings]) -> dict[str, str]:
    """What stands as a string below a field."""
    body = ast.parse(inspect.getsource(each)).body[0]
    assert isinstance(body, ast.ClassDef)
    pairs = zip(body.body, body.body[1:], strict=False)
    return {
        before.target.id: after.value.value
        for before, after in pairs
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }


if __name__ == "__main__":
    HANDBOOK.write_text(written(HANDBOOK.read_text()))
