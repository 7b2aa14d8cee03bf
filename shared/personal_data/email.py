"""Addresses of e-mail: dot-atoms as RFC 5321 has them, less the marks that part an address from what is before it, as
in `to=ivan@example.com`; domains of letters of any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST_LOCAL = 64
_LOCAL = re.compile(r"[\w+-]+(?:\.[\w+-]+)*\Z")
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.){{1,8}}(?:xn--[a-z0-9-]{{2,59}}|[^\W\d_]{{2,24}})(?![\w-])", re.IGNORECASE)
# What ends names of files, and is no country or domain: `icon@2x.png`, `pkg@next.js`.
_FILES = re.compile(
    "bmp|cfg|class|conf|cpp|css|csv|dll|docx?|exe|gif|go|gz|html?|ico|ini|jar|java|jpe?g|jsx?|json|lock|log|map|mp4|mov|pdf"
    "|php|png|proto|ps1|rb|rst|sql|svg|tar|tgz|tiff|toml|tsx?|txt|war|wav|webp|whl|xlsx?|xml|ya?ml"
)
# An address of a repository or of a page with the name of a user: `git@host:path/`, `https://user@host`.
_PATH = re.compile(r":[\w.~-]*/|/")
_IN_URL = re.compile(r"//[^\s/@]{0,128}\Z")
_VERSION = re.compile(r"\d+(?:-\w+)?")


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Where addresses stand in a folded text. Each `@` is looked at once, as far as an address may reach."""
    at = text.find("@")
    while at >= 0:
        local = _LOCAL.search(text, max(0, at - _LONGEST_LOCAL), at) if at else None
        domain = _DOMAIN.match(text, at + 1)
        if local and domain and _is_address(text, local.start(), at, domain):
            yield local.start(), domain.end()
        at = text.find("@", at + 1)


def _is_address(text: str, start: int, at: int, domain: re.Match[str]) -> bool:
    labels = domain[0].lower().split(".")
    if _FILES.fullmatch(labels[-1]) or sum(bool(_VERSION.fullmatch(label)) for label in labels) > 1:
        return False
    if _IN_URL.search(text, max(0, start - 130), start) or (start and text[start - 1] == "@"):
        return False
    return not (text[start:at].lower() in ("git", "hg", "svn", "ssh") and _PATH.match(text, domain.end()))
