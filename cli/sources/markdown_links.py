"""The title of a Markdown text, and what it links to: wiki links and relative links, none of them out of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
# Stands for what interrupts a text, so that no link is put together from two sides of it.
_GAP = "\n"

_parser = MarkdownIt("commonmark")


@dataclass(frozen=True)
class Links:
    """What a text links to, each once, in order."""

    wiki: tuple[str, ...]
    """Names in `[[…]]`, without heading and label."""
    relative: tuple[str, ...]
    """Paths relative to the text, decoded, without query and fragment."""


@dataclass(frozen=True)
class Outline:
    """What a text shows at a glance."""

    heading: str
    """The first heading of level 1, else the first of any; empty where there is none."""
    links: Links


def read_outline(body: str) -> Outline:
    """Reads a Markdown text that has no front matter (any more)."""
    tokens = _parser.parse(body)
    inline = [token for token in tokens if token.type == "inline"]
    wiki = dict.fromkeys(name for token in inline for name in _wiki_links(token))
    relative = dict.fromkeys(path for token in inline for path in _relative_links(token))
    return Outline(_heading(tokens), Links(tuple(wiki), tuple(relative)))


def wiki_target(text: str) -> str | None:
    """The name in a text that is one wiki link and nothing else."""
    match = _WIKI.fullmatch(text.strip())
    return match["target"].strip() if match else None


def relative_path(address: str) -> str | None:
    """The path of an address within the same store; None where it leads elsewhere or only to a heading."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return unquote(parts.path) if not parts.scheme and not parts.netloc and parts.path else None


def _heading(tokens: list[Token]) -> str:
    headings = [
        (opening.tag, _plain_text(content)) for opening, content in pairwise(tokens) if opening.type == "heading_open"
    ]
    first_level = [text for tag, text in headings if tag == "h1" and text]
    return next(iter(first_level + [text for _, text in headings if text]), "")


def _plain_text(token: Token) -> str:
    parts = (child.content if child.type in ("text", "code_inline", "image") else " " for child in _children(token))
    return " ".join("".join(parts).split())


def _wiki_links(token: Token) -> Iterator[str]:
    text = "".join(child.content if child.type == "text" else _GAP for child in _children(token))
    return (match["target"].strip() for match in _WIKI.finditer(text) if match["target"].strip())


def _relative_links(token: Token) -> Iterator[str]:
    for child in _children(token):
        address = child.attrGet("href") if child.type == "link_open" else None
        path = relative_path(str(address)) if address else None
        if path:
            yield path


def _children(token: Token) -> list[Token]:
    return token.children or []
