"""A message as it may be stored: without injected blocks and secrets; and what it is known again by (CP-2, CP-3)."""

import hashlib
from collections.abc import Collection
from typing import NamedTuple

from services.writer.capture.secrets import scrubbed
from services.writer.capture.stripping import Stripped, stripped
from services.writer.capture.told_packs import ToldPacks


class Cleaned(NamedTuple):
    """What is left of a text. `text_hash`: SHA-256, in hex, of the text as it was sent, less secrets."""

    text: str
    stripped: Stripped
    secrets: tuple[str, ...]
    text_hash: str

    def counts(self) -> dict[str, int]:
        """What was taken out, by what it was."""
        found = {"memory": self.stripped.memory_blocks, "service": self.stripped.service_blocks}
        for kind in self.secrets:
            found[f"secret:{kind}"] = found.get(f"secret:{kind}", 0) + 1
        return {what: number for what, number in found.items() if number}


def cleaned(text: str, packs: ToldPacks, tags: Collection[str]) -> Cleaned:
    """What is left of a message's text.

    Which blocks are found depends on what was told by then: so a message is known again by what it was before. Of a
    secret not even a hash is kept, from which it could be guessed.
    """
    left = stripped(text, packs, tags)
    safe = scrubbed(left.text)
    whole = safe.text if left.text == text else scrubbed(text).text
    return Cleaned(safe.text, left, safe.kinds, hashlib.sha256(whole.encode()).hexdigest())
