"""What is left of a message when what others than its author put into it is gone (CP-2). Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from services.writer.capture.memory_blocks import without_memory
from services.writer.capture.service_blocks import without_service
from services.writer.capture.text_cut import is_bare
from services.writer.capture.told_packs import ToldPacks
from shared.normal_form import is_blank


class Stripped(NamedTuple):
    """What is left, and how many blocks of memory and of services are gone."""

    text: str
    memory_blocks: int
    service_blocks: int

    @property
    def blocks(self) -> int:
        """How many blocks are gone."""
        return self.memory_blocks + self.service_blocks


def stripped(text: str, packs: ToldPacks, tags: Collection[str]) -> Stripped:
    """The text without injected blocks; empty where nothing that can be seen is left, or signs alone that were around
    blocks."""
    text, service = without_service(text, tags)
    text, memory = without_memory(text, packs)
    is_empty = is_bare(text, 0, len(text)) if memory or service else is_blank(text)
    return Stripped("" if is_empty else text, memory, service)
