"""GetNamespace: a namespace's settings. None can be changed yet, so every namespace has the defaults."""

from __future__ import annotations

from dataclasses import dataclass

from services.reader.compiler.budget import Budget
from services.reader.compiler.items import HYPOTHESIS_BELOW
from services.reader.context import ReadContext

_DAYS_OF_TRACES = 30


@dataclass(frozen=True, slots=True)
class NamespaceDefaults:
    """How a namespace behaves that nobody has configured."""

    name: str
    budget: Budget
    hypothesis_below: float = HYPOTHESIS_BELOW
    text_search_configurations: tuple[str, ...] = ("russian", "simple")
    traces_kept_days: int = _DAYS_OF_TRACES


async def get_namespace(context: ReadContext) -> NamespaceDefaults:
    """The settings of version 0."""
    return NamespaceDefaults(context.view.namespace, Budget())
