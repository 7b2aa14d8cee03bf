"""The marker around a rendered pack, by which capture recognises what the memory itself has said (RE-8, CP-2)."""

from __future__ import annotations

import re

TAG = "palimpsest-context"
OPENING = f'<{TAG} pack="{{pack_id}}">'
CLOSING = f"</{TAG}>"

# What `<` may have become on its way: escaped, or another sign of its shape.
_BRACKET = r"(?:[<＜〈⟨《«‹❮]|&(?:amp;)*lt;|\\+u003c)"
_NAME = r"palimpsest[\W_]{0,4}context"
# Looks like `<` and is none of those: what stands inside a pack can then neither end it nor begin another.
_HARMLESS = "˂"
_MARKER = re.compile(rf"{_BRACKET}(?=[\W_]{{0,12}}{_NAME})", re.IGNORECASE)

OPENING_FORM = re.compile(
    rf"{_BRACKET}[^\w/∕⁄／]{{0,12}}{_NAME}[\W_]{{1,12}}pack(?:[\W_]|quot;|u0022|amp;|#34;){{1,24}}(?P<pack_id>pack[\W_]{{0,3}}[0-9a-f]{{24}})"
    r"(?:[^\w\s>＞〉⟩》»›❯&\\]|&(?:amp;)*(?:quot|#34|#x22);|\\+(?:u0022|\"))*\s*(?:[>＞〉⟩》»›❯]|&(?:amp;)*gt;|\\+u003e)?",
    re.IGNORECASE,
)
"""An opening, in whatever form it came back."""
CLOSING_FORM = re.compile(
    rf"{_BRACKET}[^\w/∕⁄／]{{0,6}}[/∕⁄／][\W_]{{0,6}}{_NAME}[\W_]{{0,4}}?(?:[>＞〉⟩》»›❯]|&(?:amp;)*gt;|\\+u003e|$|(?=\n))",
    re.IGNORECASE,
)
"""A closing, in whatever form it came back."""


def wrap(pack_id: str, body: str) -> str:
    """The body as the text of a pack. Lines of the body must be harmless already."""
    return f"{OPENING.format(pack_id=pack_id)}\n{body}\n{CLOSING}"


def harmless(text: str) -> str:
    """The text with any marker in it broken, and of the same length."""
    return _MARKER.sub(lambda found: _HARMLESS + found.group()[1:], text)
