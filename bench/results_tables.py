"""Figures of any benchmark as tables of Markdown: what is nested once becomes rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def tables(figures: Mapping[str, Any]) -> list[str]:
    """Lines: single figures first, then a table for each group of figures with the same names, then what is nested
    deeper."""
    single = {name: value for name, value in figures.items() if _is_single(value)}
    groups = {name: value for name, value in figures.items() if _is_group(value)}
    lines = table(["figure", ""], [[_label(name), cell(value)] for name, value in single.items()]) if single else []
    lines += _matrix(groups) if groups else []
    for name, value in figures.items():
        if name not in single and name not in groups and value:
            lines += [f"**{_label(name)}**", "", *_nested(value)]
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, and an empty one."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(_escaped(each) for each in line) + " |" for line in lines] + [""]


def cell(value: Any) -> str:
    """A figure as it is shown: three digits of a fraction, nothing for none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{_label(name)} {cell(each)}" for name, each in value.items())
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return "" if value is None else str(value)


def _nested(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return tables(value)
    if not all(isinstance(each, Mapping) for each in value):
        return [", ".join(map(cell, value)), ""]
    names = list(dict.fromkeys(name for each in value for name in each))
    return table(list(map(_label, names)), [[cell(each.get(name)) for name in names] for each in value])


def _matrix(groups: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Groups with the same names share a table."""
    alike: dict[tuple[str, ...], list[list[Any]]] = {}
    for name, group in groups.items():
        alike.setdefault(tuple(group), []).append([name, group])
    return [line for rows in alike.values() for line in _rows(rows)]


def _rows(rows: Sequence[Sequence[Any]]) -> list[str]:
    names = list(dict.fromkeys(name for _, group in rows for name in group))
    return table(
        ["", *map(_label, names)],
        [[_label(title), *(cell(group.get(name)) for name in names)] for title, group in rows],
    )


def _is_single(value: Any) -> bool:
    return not isinstance(value, Mapping | list)


def _is_group(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(map(_is_single, value.values()))


def _label(name: str) -> str:
    return name.replace("_", " ")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
