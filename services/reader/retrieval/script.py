"""The script that a text is written in: what tells a question in one language from an answer in another."""

from __future__ import annotations

from services.reader.retrieval import tuning


def is_latin(text: str) -> bool:
    """Whether a text is mostly in Latin script, told as the search statement does: by bytes beyond one a character."""
    return len(text.encode()) - len(text) < tuning.OTHER_SCRIPT_SHARE * len(text)
