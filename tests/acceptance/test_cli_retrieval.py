"""The commands that ask, explain and walk, against a real system with the bundled model."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from palimpsest.client import Client
from palimpsest.v1.writer_service_pb2 import WaitForEmbeddingRequest

from cli.endpoints import find_endpoints
from tests.acceptance.test_cli import Ended, Running, folder, observation, up
from tests.acceptance.test_cli_knowledge import fact

NAMESPACE = "told"
HOSTILE = "<script>alert(1)</script>"
WEB = "https://example.org/notes/2?a=1&b=2"
PACK = {
    "pack": "people",
    "version": 1,
    "kinds": [{"kind": "person"}, {"kind": "issue", "key_template": "issue:<id>", "id_patterns": [r"\bOPS-\d+\b"]}],
    "relations": [
        {"relation": "BORN_IN", "from_kinds": ["person"], "cardinality": "CARDINALITY_ONE",
         "on_conflict": "CONFLICT_POLICY_KEEP"},
    ],
}  # fmt: skip
LINES = (
    observation(
        1, content=f"The gateway retries 3 times. Retries wait ten seconds. {HOSTILE}",
        provenance={"uri": "javascript:alert(1)"},
    ),
    observation(2, content="The gateway was moved to host seven. " + "It is long. " * 40, provenance={"uri": WEB}),
    observation(3, content="Anna said where.", assertions=[fact("person:anna", "BORN_IN", "city:omsk")]),
    observation(
        4, content="Boris said otherwise.", assertions=[
            fact("person:anna", "BORN_IN", "city:tula", confidence=0.3),
            fact("person:anna", "WORKS_ON", "project:alpha"),
            fact("person:boris", "WORKS_ON", "project:alpha", valid_from="2026-01-01T00:00:00Z"),
        ],
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    """A system that knows a few things, all with their vectors."""
    with folder() as place, up(place / "data") as running:
        assert asked(running, "packs", "register", "-", stdin=json.dumps(PACK)).code == 0
        assert asked(running, "packs", "enable", "people").code == 0
        assert asked(running, "record", stdin="\n".join(LINES)).code == 0
        endpoints = find_endpoints(None, running.data)
        with Client(writer=endpoints.writer, reader=endpoints.reader, embedder=endpoints.embedder) as client:
            client.writer.WaitForEmbedding(WaitForEmbeddingRequest(namespace=NAMESPACE), timeout=60)
        yield running


def asked(system: Running, *arguments: str, stdin: str = "") -> Ended:
    return system.palimpsest(*arguments, "-n", NAMESPACE, stdin=stdin)


def packed(system: Running, query: str, *options: str) -> dict[str, Any]:
    """What `context` answers as JSON."""
    done = asked(system, "context", query, "--json", *options)
    assert done.code == 0, done.err
    [answer] = done.lines
    return answer


def test_a_hit_is_a_block(system: Running) -> None:
    """RE-2, RE-7: number, score, kind and id; the text on one line; each signal; where it comes from."""
    [answer] = asked(system, "search", "where was the gateway moved?", "--json").lines
    best = answer["hits"][0]
    told = asked(system, "search", "where was the gateway moved?")
    assert told.code == 0
    head, text, signals, source = told.out.splitlines()[:4]
    assert head == f"1. {best['score']:.3f}  chunk  {best['item_id']}"
    assert "The gateway was moved to host seven. It is long." in text
    assert text.rstrip().endswith("…")
    assert len(text.rstrip()) <= 160
    for signal, name in (("SIGNAL_LEXICAL", "words"), ("SIGNAL_VECTOR", "meaning")):
        [score] = [each for each in best["signals"] if each["signal"] == signal]
        assert f"{name} {score['raw']:.3g} (+{score['contribution']:.3f}, rank {score['rank']})" in signals
    assert "chat/team 2026-02-28 21:02:00Z by person:anna" in source
    assert source.endswith(WEB)
    assert told.out.count("\n2. ") == 1


def test_an_abstention_says_what_it_was_decided_by(system: Running) -> None:
    """RE-4: the reason, and what was measured."""
    nothing = asked(system, "search", "zxqv blorp")
    assert nothing.code == 3
    assert "[BELOW_THRESHOLD]: relevance 0." in nothing.err
    assert "nearest meaning 0." in nothing.err


def test_the_callers_clock_decides_what_yesterday_is(system: Running) -> None:
    """RE-3: what happened then is lifted by the signal of time, and by another clock is not."""
    then, otherwise = (
        asked(system, "search", "gateway yesterday", "--time", f"{day}T12:00:00+03:00").out
        for day in ("2026-03-02", "2025-03-02")
    )
    assert "time " in then
    assert "time " not in otherwise


def test_a_pack_with_scores(system: Running) -> None:
    """RE-6, RE-6a, RE-7, FA-7: signals, conflicts with the rival's number, hypotheses, what did not fit, the trace."""
    # The clock is a part of the request, and so of the pack's id.
    options = ("--budget", "300", "--time", "2026-03-02T12:00:00+03:00")
    answer = packed(system, "where was anna born?", *options)
    told = asked(system, "context", "where was anna born?", *options, "--scores")
    assert told.code == 0
    assert told.out.startswith(answer["pack"]["rendered"])
    numbers = {item["item_id"]: item["number"] for item in answer["pack"]["items"]}
    rivals = [item for item in answer["pack"]["items"] if item["conflict"]]
    assert len(rivals) == 2
    for item in rivals:
        [rival] = item["rival_fact_ids"]
        assert f"against [{numbers[rival]}] {rival}" in told.out
    assert "hypothesis, contradicted by other facts, confidence 0.30" in told.out
    assert answer["pack"]["omitted_count"] > 0
    for item_id in answer["pack"]["omitted"]:
        assert f"   {item_id}\n" in told.out
    assert f"trace {answer['pack']['pack_id']}-" in told.out
    assert "against" not in asked(system, "context", "where was anna born?").out


def test_a_delta(system: Running) -> None:
    """RE-14: nothing new is exit code 3 and says so; what did not fit before is new."""
    whole = packed(system, "where was anna born?")["pack"]["pack_id"]
    again = asked(system, "context", "where was anna born?", "--since", whole)
    assert again.code == 3
    assert f"Nothing is new, changed or no longer true since {whole}." in again.out
    part = packed(system, "where was anna born?", "--budget", "300")["pack"]["pack_id"]
    rest = asked(system, "context", "where was anna born?", "--since", part)
    assert rest.code == 0
    assert "(new)" in rest.out
    assert asked(system, "context", "x", "--since", "pack-" + "0" * 24).code == 1


class Elements(HTMLParser):
    """The elements of a page, their links and ids, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.add(tag)
        self.ids.add(attributes.get("id") or "")
        self.links += [attributes.get("href") or ""] if "href" in attributes else []

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_pack_as_a_page(system: Running, tmp_path: Path) -> None:
    """RE-7, OP-2: provenance as links, rivals linked; what is stored comes out as text, and no script as a link."""
    file = tmp_path / "pack.html"
    assert asked(system, "context", "where was anna born? gateway retries", "--html", str(file)).code == 0
    page = Elements(file.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert HOSTILE in page.text
    assert "javascript:alert(1)" in page.text
    anchors = {link for link in page.links if link.startswith("#")}
    assert len(anchors) == 2
    assert {anchor[1:] for anchor in anchors} <= page.ids
    assert set(page.links) - anchors == {WEB}
    refused = asked(system, "context", "gateway retries", "--html", str(tmp_path))
    assert refused.code == 2
    assert "Is a directory" in refused.err


def test_why_an_item_is_in_or_out(system: Running) -> None:
    """RE-7: its number in the pack, or the gate; with signals and provenance."""
    answer = packed(system, "where was anna born?", "--budget", "300")
    inside, outside = answer["pack"]["items"][0], answer["pack"]["omitted"][0]
    told = asked(system, "explain", answer["trace_id"], inside["item_id"])
    assert told.code == 0
    assert told.out.startswith(f"{inside['item_id']}: in\n")
    assert "as [1]" in told.out
    assert "from chat/team" in told.out
    assert "rank" in told.out
    assert f"{outside}: out [budget]" in asked(system, "explain", answer["trace_id"], outside).out
    assert "out [not found]" in asked(system, "explain", answer["trace_id"], "fact-" + "0" * 24).out
    [response] = asked(system, "explain", answer["trace_id"], outside, "--json").lines
    assert response["gate"] == "GATE_BUDGET"
    unknown = asked(system, "explain", "pack-1-1", outside)
    assert unknown.code == 1
    assert "NOT_FOUND" in unknown.err


def test_a_trace(system: Running) -> None:
    """RE-9: every candidate with its gate, the stages with their times, and by what it was not an abstention."""
    answer = packed(system, "where was anna born?", "--budget", "300")
    [found] = asked(system, "trace", answer["trace_id"], "--json").lines
    told = asked(system, "trace", answer["trace_id"])
    assert told.code == 0
    assert "» where was anna born?" in told.out
    kept = sum(one["gate"] == "GATE_UNSPECIFIED" for one in found["candidates"])
    assert kept == len(answer["pack"]["items"])
    assert f"{len(found['candidates'])} candidates: " in told.out
    assert f"in {kept}" in told.out
    assert all(one["item_id"] in told.out for one in found["candidates"])
    assert all(f"{stage} " in told.out for stage in ("embed", "retrieve", "fuse", "pack"))
    short = asked(system, "trace", answer["trace_id"], "--limit", "1")
    assert found["candidates"][1]["item_id"] not in short.out
    assert f"{len(found['candidates']) - 1} more" in short.err
    assert asked(system, "trace", "pack-1-1").code == 1


def test_an_answer_sentence_by_sentence(system: Running, tmp_path: Path) -> None:
    """RE-15: the verdict, the item and its words; the exit code is of the worst sentence."""
    pack = packed(system, "how often does the gateway retry?")["pack"]["pack_id"]
    supported, contradicted = "The gateway retries 3 times.", "The gateway retries 4 times."
    told = asked(system, "verify", pack, stdin=f"{supported} {contradicted} Lunch is at noon.")
    assert told.code == 5
    lines = told.out.splitlines()
    number = lines[0].split("[")[1].split("]")[0]
    assert lines[0].split() == ["supported", f"[{number}]", *supported.split()]
    assert "says: “The gateway retries 3 times”" in lines[1]
    assert lines[2].split() == ["contradicted", f"[{number}]", *contradicted.split()]
    assert "but says: “The gateway retries 3 times”" in lines[3]
    assert " ".join(lines[4].split()) == "not in memory Lunch is at noon."
    assert lines[5] == "1 supported, 1 contradicted, 1 not in memory"
    (tmp_path / "answer.txt").write_text(supported)
    assert asked(system, "verify", pack, str(tmp_path / "answer.txt")).code == 0
    verdicts = asked(system, "verify", pack, "--json", stdin=f"{supported} Lunch is at noon.")
    assert verdicts.code == 3
    assert [each["verdict"] for each in verdicts.lines] == ["VERDICT_SUPPORTED", "VERDICT_NOT_IN_MEMORY"]
    assert asked(system, "verify", pack, stdin="...").code == 3
    assert asked(system, "verify", "pack-" + "0" * 24, stdin=supported).code == 1
    (tmp_path / "answer.txt").write_bytes(b"\xff")
    assert "not UTF-8" in asked(system, "verify", pack, str(tmp_path / "answer.txt")).err


def test_neighbours(system: Running) -> None:
    """RE-11: the edges with weight and direction, heaviest first; by relation, direction and moment."""
    told = asked(system, "neighbours", "person:anna")
    assert told.code == 0
    rows = [line.split()[:3] for line in told.out.splitlines()[2:]]
    assert rows == [
        ["1.00", "—BORN_IN→", "city:omsk"], ["1.00", "—WORKS_ON→", "project:alpha"], ["0.30", "—BORN_IN→", "city:tula"],
    ]  # fmt: skip
    [only] = asked(system, "neighbours", "person:anna", "--relation", "WORKS_ON", "--json").lines
    assert only["entity"]["natural_key"] == "project:alpha"
    assert "←WORKS_ON—" in asked(system, "neighbours", "project:alpha", "--direction", "incoming").out
    assert asked(system, "neighbours", "project:alpha", "--direction", "outgoing").code == 3
    assert "person:boris" in asked(system, "neighbours", "project:alpha").out
    assert "person:boris" not in asked(system, "neighbours", "project:alpha", "--as-of", "2025-12-31T00:00:00Z").out
    assert asked(system, "neighbours", "person:nobody").code == 1


def test_paths(system: Running) -> None:
    """RE-10: drawn with their edges' directions; bounded by depth, relation, direction and kind; nothing is 3."""
    long = "person:anna —WORKS_ON→ project:alpha ←WORKS_ON— person:boris (1.00)"
    assert long in asked(system, "traverse", "person:anna").out.splitlines()
    near = asked(system, "traverse", "person:anna", "--depth", "1")
    assert "person:anna —BORN_IN→ city:tula (0.30)" in near.out.splitlines()
    assert "person:boris" not in near.out
    [only] = asked(system, "traverse", "person:anna", "--relation", "WORKS_ON", "--depth", "1", "--json").lines
    assert [path["entity_keys"] for path in only["paths"]] == [["person:anna", "project:alpha"]]
    assert "person:boris" not in asked(system, "traverse", "person:anna", "--direction", "outgoing").out
    assert asked(system, "traverse", "person:anna", "--kind", "issue").code == 3
    cut = asked(system, "traverse", "person:anna", "--limit", "1")
    assert len(cut.out.splitlines()) == 1
    assert "more paths" in cut.err


def test_paths_from_a_text(system: Running) -> None:
    """RE-10: from what a pack's patterns find in it."""
    blocks = fact("issue:OPS-7", "BLOCKS", "project:alpha")
    assert asked(system, "record", stdin=observation(9, content="x", assertions=[blocks])).code == 0
    told = asked(system, "traverse", "--text", "what of OPS-7?", "--depth", "1")
    assert told.out.splitlines() == ["issue:OPS-7 —BLOCKS→ project:alpha (1.00)"]
    assert asked(system, "traverse", "--text", "nothing is named here").code == 3
