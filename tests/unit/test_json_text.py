"""How deep JSON may be nested: a fixed bound, so that nothing behind it runs out of stack."""

import pytest
from palimpsest.canonical import canonical_json

from shared.json_text import MAX_DEPTH, TOO_DEEP, json_fault


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"[": ', "}]")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    """OB-8, OP-2: what is accepted can be hashed and stored; one level more is refused in words."""
    levels = opening.count("[") - opening.count('"[') + opening.count("{")
    deep = MAX_DEPTH // levels
    allowed = opening * deep + "1" + closing * deep
    assert json_fault(allowed) == ""
    assert canonical_json(allowed)
    assert json_fault(opening * (deep + 1) + "1" + closing * (deep + 1)) == TOO_DEEP


def test_brackets_in_strings_and_beside_each_other_are_not_depth() -> None:
    """OB-8: only nesting counts."""
    assert json_fault('"' + "[" * 1000 + '\\""') == ""
    assert json_fault("[" + "[]," * 1000 + "[]]") == ""
