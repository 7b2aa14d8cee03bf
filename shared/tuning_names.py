"""Names of the constants of retrieval that a namespace may set for itself, with their ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

RANGES: Mapping[str, tuple[float, float]] = {
    "fusion.vector_weight": (0.0, 1.0),
    "fusion.message_vector_weight": (0.0, 1.0),
    "fusion.coverage_gate": (0.01, 1.0),
    "fusion.coverage_gate_across": (0.01, 1.0),
    "fusion.neighbor_weight": (0.0, 10.0),
    "fusion.author_weight": (0.0, 10.0),
    "fusion.trigram_weight": (0.0, 10.0),
    "fusion.graph_weight": (0.0, 10.0),
    "fusion.time_weight": (0.0, 10.0),
    "fusion.rerank_weight": (0.0, 1.0),
    "fusion.others_factor": (0.0, 1.0),
    "fusion.stale_factor": (0.0, 1.0),
    "pack.floor": (0.0, 1.0),
    "abstention_threshold": (0.0, 1.0),
}
"""The least and the greatest value of each. `abstention_threshold` may also be set for one model, by
`abstention_threshold.<fingerprint>`, and for words alone, by `abstention_threshold.words`."""

_OF_ONE_MODEL = re.compile(r"abstention_threshold\.(fp-[0-9a-f]{24}|words)")


def fault(name: str, value: float) -> str | None:
    """What is wrong with setting a constant to a value. None: nothing."""
    known = RANGES.get("abstention_threshold" if _OF_ONE_MODEL.fullmatch(name) else name)
    if known is None:
        return f"must be one of {', '.join(RANGES)}"
    least, greatest = known
    if not math.isfinite(value) or not least <= value <= greatest:
        return f"must be from {least:g} to {greatest:g}"
    return None
