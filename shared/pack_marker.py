"""The marker around a rendered pack, by which capture recognises what the memory itself has said (RE-8, CP-2)."""

from __future__ import annotations

import re

TAG = "palimpsest-context"
OPENING = f'<{TAG} pack="{{pack_id}}">'
CLOSING = f"</{TAG}>"

# Looks like `<` and is not: what stands inside a pack can then neither end it nor begin another.
_HARMLESS = "‹"
_MARKER = re.compile(rf"<(?=\s*/?\s*{TAG})", re.IGNORECASE)


def wrap(pack_id: str, body: str) -> str:
    """The body as the text of a pack. Lines of the body must be harmless already."""
    return f"{OPENING.format(pack_id=pack_id)}\n{body}\n{CLOSING}"


def harmless(text: str) -> str:
    """The text with any marker in it broken, and of the same length."""
    return _MARKER.sub(_HARMLESS, text)
