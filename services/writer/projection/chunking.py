"""Cuts texts into chunks along headings, paragraphs and sentences, without losing or repeating a character (DO-2)."""

from collections.abc import Iterator
from dataclasses import dataclass

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from services.writer.projection.headings import sections
from services.writer.projection.window_estimate import surely_fits, window_estimate
from shared.normal_form import is_blank
from shared.token_count import token_count

MARKDOWN = "text/markdown"
PLAIN = "text/plain"

# A chunk is full once it has so many characters: about a paragraph. Beyond the second it is cut.
CHUNK_CHARS = (600, 1_000)
# The window of the bundled model and of most others holds 512 tokens; the rest is for prefix, title and heading.
MAX_CHUNK_TOKENS = 480

# The splitter's time grows with the square of a paragraph's length, so it never gets more than this at once.
_PART_CHARS = 20_000
# By how much more than needed a chunk that is too long is cut, so that one more cut is seldom needed.
_SPARE = 0.9


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of a text and the headings that it stands under."""

    heading: str
    text: str


def chunk_text(text: str, media_type: str = MARKDOWN) -> list[TextChunk]:
    """Returns the chunks of a text in order; joined they are the text. A blank text has none.

    No chunk has more than `MAX_CHUNK_TOKENS` by `token_count` or by `window_estimate`, but for spaces, which cost no
    window: a run of them stays with the chunk before it.
    """
    if is_blank(text):
        return []
    if media_type == PLAIN:
        return [TextChunk("", piece) for piece in _pieces(text, TextSplitter)]
    return _without_blanks(
        [TextChunk(part.heading, piece) for part in sections(text) for piece in _pieces(part.text, MarkdownSplitter)]
    )


def _pieces(text: str, splitter: type[TextSplitter] | type[MarkdownSplitter]) -> list[str]:
    if surely_fits(text, MAX_CHUNK_TOKENS) and not is_blank(text):
        return [text]  # most texts: nothing is to be cut
    pieces = [fit for part in _parts(text) for piece in _chunks(part, splitter) for fit in _fitting(piece)]
    return [chunk.text for chunk in _without_blanks([TextChunk("", piece) for piece in pieces])]


def _chunks(part: str, splitter: type[TextSplitter] | type[MarkdownSplitter]) -> list[str]:
    # What is shorter than a chunk is one.
    return [part] if len(part) <= CHUNK_CHARS[0] else splitter(CHUNK_CHARS, trim=False).chunks(part)


def _parts(text: str) -> Iterator[str]:
    """Cuts a long text at its paragraphs, else lines, else words, into parts of at most `_PART_CHARS`."""
    start = 0
    while len(text) - start > _PART_CHARS:
        end = _cut(text, start + _PART_CHARS // 2, start + _PART_CHARS)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, earliest: int, latest: int) -> int:
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, earliest, latest)
        if found >= 0:
            return found + len(mark)
    return latest


def _fitting(piece: str) -> list[str]:
    if surely_fits(piece, MAX_CHUNK_TOKENS):
        return [piece]
    tokens = max(token_count(piece.strip()), window_estimate(piece))
    if tokens <= MAX_CHUNK_TOKENS or len(piece) == 1:
        return [piece]
    capacity = max(1, int(len(piece) * _SPARE * MAX_CHUNK_TOKENS / tokens))
    return [fit for part in TextSplitter(capacity, trim=False).chunks(piece) for fit in _fitting(part)]


def _without_blanks(chunks: list[TextChunk]) -> list[TextChunk]:
    """Joins each blank piece to the one before it, and those at the start to the first that is not blank."""
    found: list[TextChunk] = []
    leading = ""
    for chunk in chunks:
        if not is_blank(chunk.text):
            found.append(TextChunk(chunk.heading, leading + chunk.text))
            leading = ""
        elif found:
            found[-1] = TextChunk(found[-1].heading, found[-1].text + chunk.text)
        else:
            leading += chunk.text
    return found
