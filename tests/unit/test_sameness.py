"""Which items of a pack say the same (RE-6, RE-6a)."""

from __future__ import annotations

from typing import Any

import pytest

from services.reader.compiler.packing import says
from services.reader.rows import CRITICAL, ItemKind, Status
from tests.unit.test_rendering import item as made

LONG = "the gateway of the payment team was restarted by the night shift after a memory leak"


def chunk(text: str, **changes: Any) -> Any:
    from shared.normal_form import normal_form

    compared = " ".join(normal_form(text).split())
    return made(**({"kind": ItemKind.CHUNK, "text": text, "compared": compared, "confidence": None} | changes))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice works on alpha", "alice  WORKS on alpha."),
        (f"Note: {LONG}, said Bob.", LONG),
        ("**Alice** works on `alpha`!", "Alice works on the alpha"),
        ("Ёж перешёл шлюз", "ЕЖ\u00a0перешел — шлюз"),
        ("👍", "👍"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    """RE-6: marks, case, articles, and what the longer one says besides."""
    assert says(chunk(one), chunk(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The gateway retries 30 times", "The gateway retries 3"),
        ("The gateway retries 3 times", "The gateway retries 5 times"),
        ("retried 3 times and failed 2 times", "failed 2 times"),
        ("Alice no longer works on alpha", "works on alpha"),
        ("Алиса не работает над альфой", "работает над альфой"),
        ("Alice manages Bob", "Bob manages Alice"),
        ("from alpha to beta", "from beta to alpha"),
        ("Alice works on alphabet", "Alice works on alpha"),
        ("Is the gateway down?", "the gateway down"),
        ("The balance is -5", "The balance is 5"),
        ("It costs $5", "It costs €5"),
        ("Alice works on alpha", "Alice works on alpha and beta"),
        ("👍", "👎"),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    """RE-6: a number, a negation, a name, an order, a part of a word."""
    assert not says(chunk(one), chunk(other))


def test_a_few_words_need_their_title() -> None:
    """RE-6: «yes» of two people is two things; a long text is one, wherever it was copied to."""
    assert not says(chunk("Yes, I agree.", title="Chat — Alice"), chunk("Yes, I agree.", title="Chat — Bob"))
    assert says(chunk("Yes, I agree.", title="Chat — Bob"), chunk("Yes, I agree!", title="Chat — Bob"))
    assert says(chunk(LONG, title="Wiki"), chunk(LONG, title="Mail"))


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ({"confidence": 0.1}, {"confidence": 0.9}),
        ({"status": Status.STALE}, {}),
        ({}, {"importance": CRITICAL}),
        ({"rivals": ("fact-2",)}, {}),
        ({}, {"rivals": ("fact-2",)}),
        ({"delta": 3}, {}),
    ],
)
def test_what_weighs_less_stands_for_nothing(weaker: dict[str, Any], stronger: dict[str, Any]) -> None:
    """RE-6a, FA-7: neither a hypothesis, nor what is stale, nor a side of a conflict."""
    assert not says(made(**weaker), made(**stronger))
