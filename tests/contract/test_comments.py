"""SH-5: everything in the contract is documented."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.contract.contract import PROTOS, Element, elements, parsed

# A capital or a name of the contract, at least four words, a full stop at the very end.
SENTENCE = re.compile(r"^[A-Z`].*\.$", re.DOTALL)
FEWEST_WORDS = 4

END_WITH_TEST_VECTORS = {"palimpsest.v1.AuditEvent", "palimpsest.v1.Observation", "palimpsest.v1.FactAssertion"}

UNDOCUMENTED = """
syntax = "proto3";
package palimpsest.v1;
service BareService {
  rpc Call(Bare) returns (Bare);
}
message Bare {
  string field = 1;
  optional string optional = 2;
  map<string, string> map = 3;
  oneof choice {
    string member = 4;
  }
  message Nested {}
}
enum Kind {
  KIND_UNSPECIFIED = 0;
}
"""


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> list[Element]:
    return list(elements(parsed(PROTOS, tmp_path_factory.mktemp("contract") / "set")))


def undocumented(found: list[Element]) -> list[str]:
    return [f"{element.kind} {element.name}" for element in found if not element.comment]


def test_everything_has_a_comment(declared: list[Element]) -> None:
    """SH-5: every service, RPC, message, field, oneof, enum, value and option says what it is."""
    assert undocumented(declared) == []


def test_the_check_sees_the_whole_contract(declared: list[Element]) -> None:
    """SH-5: each kind of element is among those that are checked."""
    counts = Counter(element.kind for element in declared)
    assert counts["service"] == 3
    assert counts["option"] == 3
    assert counts["rpc"] > 60
    assert min(counts[kind] for kind in ("message", "field", "oneof", "enum", "value")) > 10


def test_rpcs_are_described_in_sentences(declared: list[Element]) -> None:
    """SH-5: an RPC's comment is a full sentence at least: what it promises when repeated, empty or in part."""
    bad = [
        element.name
        for element in declared
        if element.kind == "rpc"
        and not (SENTENCE.match(element.comment) and len(element.comment.split()) >= FEWEST_WORDS)
    ]
    assert bad == []


def test_comments_end_as_sentences_do(declared: list[Element]) -> None:
    """SH-5: a comment that breaks off is not a description."""
    broken = {element.name for element in declared if not element.comment.endswith(".")}
    assert broken == END_WITH_TEST_VECTORS


def test_missing_comments_are_found(tmp_path: Path) -> None:
    """SH-5: the check finds each kind of element that has none."""
    folder = tmp_path / "palimpsest" / "v1"
    folder.mkdir(parents=True)
    (folder / "bare.proto").write_text(UNDOCUMENTED)
    found = undocumented(list(elements(parsed(tmp_path, tmp_path / "set"))))
    assert sorted(found) == [
        "enum palimpsest.v1.Kind",
        "field palimpsest.v1.Bare.field",
        "field palimpsest.v1.Bare.map",
        "field palimpsest.v1.Bare.member",
        "field palimpsest.v1.Bare.optional",
        "message palimpsest.v1.Bare",
        "message palimpsest.v1.Bare.Nested",
        "oneof palimpsest.v1.Bare.choice",
        "rpc palimpsest.v1.BareService.Call",
        "service palimpsest.v1.BareService",
        "value palimpsest.v1.Kind.KIND_UNSPECIFIED",
    ]
