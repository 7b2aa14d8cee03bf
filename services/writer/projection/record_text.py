"""Records as text for people and models: every field under an English label."""

from collections.abc import Sequence

# A label with its value: a line, or a list of lines.
Labelled = tuple[str, str | Sequence[str]]


def render(summary: str, fields: Sequence[Labelled], *, numbered: frozenset[str] = frozenset()) -> str:
    """Returns the summary and below it each field that has a value; lists as bullets, or numbered."""
    blocks = [summary, *(_block(label, value, label in numbered) for label, value in fields if value)]
    return "\n".join(block for block in blocks if block)


def _block(label: str, value: str | Sequence[str], numbered: bool) -> str:
    if isinstance(value, str):
        return f"{label}: {value}"
    marks = [f"{place}." for place in range(1, len(value) + 1)] if numbered else ["-"] * len(value)
    return "\n".join([f"{label}:", *(f"{mark} {line}" for mark, line in zip(marks, value, strict=True))])
