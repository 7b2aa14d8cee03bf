"""How a namespace behaves that nobody has configured, or as far as its settings leave it open."""

from typing import Any

KNOWN_TEXT_SEARCH_CONFIGURATIONS = ("russian", "english", "simple")
"""What texts are indexed under: `russian` stems Latin words as `english` does, `simple` keeps exact forms."""
TEXT_SEARCH_CONFIGURATIONS = ("russian", "simple")
TRACES_KEPT_S = 30 * 86_400
BUDGET_CHARACTERS = 2_800
HYPOTHESIS_BELOW = 0.5
"""Confidence below which an item is packed as a hypothesis."""


def fill_in(settings: Any) -> None:
    """Writes the defaults into a `palimpsest.v1.NamespaceSettings` where it says nothing."""
    if not settings.text_search_configurations:
        settings.text_search_configurations.extend(TEXT_SEARCH_CONFIGURATIONS)
    if not settings.retention.HasField("traces"):
        settings.retention.traces.seconds = TRACES_KEPT_S
    if not settings.context.budget.WhichOneof("amount"):
        settings.context.budget.characters = BUDGET_CHARACTERS
    if not settings.context.HasField("hypothesis_below"):
        settings.context.hypothesis_below = HYPOTHESIS_BELOW
