"""The page of a pack: whole in itself, and harmless whatever is stored."""

from html.parser import HTMLParser

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.v1.fact_pb2 import EVIDENCE_CLASS_ASSERTED
from palimpsest.v1.reader_service_pb2 import CompileContextResponse
from palimpsest.v1.reference_pb2 import SourceIdentity
from palimpsest.v1.retrieval_pb2 import (
    ABSTENTION_NO_CANDIDATES,
    DEGRADATION_CAUSE_TIMEOUT,
    DELTA_STATE_NEW,
    ITEM_KIND_FACT,
    SIGNAL_LEXICAL,
    SIGNAL_VECTOR,
    ContextPack,
    Degradation,
    PackItem,
    ProvenanceLink,
    SignalScore,
)

from cli.pack_page import pack_page

HOSTILE = "</title></style></pre><script>alert(1)</script><img src=x onerror=alert(1)>\" onclick='x' &lt;b&gt;"
NOT_OF_THE_WEB = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//example.org/x",
    "https:example.org",
    "https://example.org/\nx",
    "x https://example.org",
    "",
)


class Page(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


def response(*items: PackItem, **fields: object) -> CompileContextResponse:
    return CompileContextResponse(pack=ContextPack(pack_id="pack-1", items=items, rendered=HOSTILE), **fields)


def link(uri: str, **fields: object) -> ProvenanceLink:
    source = SourceIdentity(system="chat", stream="team", external_id="7")
    return ProvenanceLink(observation_id="obs-1", source=source, uri=uri, occurred_at=Timestamp(), **fields)


def test_hostile_text_is_text() -> None:
    """OP-2: in the query, an item, its id, its source and its rivals; it is shown as it is, and makes no element."""
    hostile = ProvenanceLink(
        observation_id=HOSTILE, actor_key=HOSTILE, uri=HOSTILE, source=SourceIdentity(system=HOSTILE, stream=HOSTILE)
    )
    item = PackItem(number=1, item_id=HOSTILE, text=HOSTILE, provenance=[hostile], rival_fact_ids=[HOSTILE + "2"])
    said = response(item, trace_id=HOSTILE)
    said.pack.omitted_count, said.pack.omitted[:] = 1, [HOSTILE]

    page = Page(pack_page(HOSTILE, said, since=HOSTILE))

    allowed = "html head meta title style body h1 h2 p article ul li time span figure figcaption details summary pre"
    assert {tag for tag, _ in page.elements} <= set(allowed.split())
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) >= 12


def test_marks_that_reverse_text_are_not_obeyed() -> None:
    """OP-2: nor are control characters, of which HTML allows none."""
    page = pack_page("x", response(PackItem(number=1, text="a\u202eb\x00\x1b[31mc")))

    assert "a\ufffdb\ufffd\ufffd[31mc" in page


@pytest.mark.parametrize("uri", NOT_OF_THE_WEB)
def test_other_addresses_are_no_links(uri: str) -> None:
    """OP-2: they are shown, and cannot be followed."""
    page = Page(pack_page("x", response(PackItem(number=1, provenance=[link(uri)]))))

    assert page.values("href") == []
    assert " ".join((uri or "7").split()) in " ".join(page.text.split())


@pytest.mark.parametrize("uri", ['https://example.org/a?b=1&c="2"<>\'', "HTTP://example.org"])
def test_provenance_is_a_link(uri: str) -> None:
    """RE-7: to the original, that learns nothing of the page."""
    page = Page(pack_page("x", response(PackItem(number=1, provenance=[link(uri, actor_key="person:anna")]))))

    assert page.values("href") == [uri]
    assert page.values("rel") == ["noopener noreferrer"]
    assert "chat/team" in page.text
    assert "by person:anna" in page.text
    assert page.values("datetime") == ["1970-01-01T00:00:00Z"]


def test_rivals_lead_to_each_other() -> None:
    """FA-7: by anchors that are on the page; one that is not in the pack is named."""
    first = PackItem(
        number=1, kind=ITEM_KIND_FACT, item_id="fact-a", conflict=True, rival_fact_ids=["fact-b", "fact-c"]
    )
    second = PackItem(number=2, kind=ITEM_KIND_FACT, item_id="fact-b", conflict=True, rival_fact_ids=["fact-a"])

    page = Page(pack_page("x", response(first, second)))

    assert page.values("href") == ["#item-2", "#item-1"]
    assert {"item-1", "item-2"} <= set(page.values("id"))
    assert "fact-c" in page.text


def test_what_is_known_of_an_item_is_on_the_page() -> None:
    """RE-6a, RE-7, FA-1: marks, interval, and the scores of each signal."""
    item = PackItem(
        number=1, kind=ITEM_KIND_FACT, text="anna lives in omsk", score=0.5, hypothesis=True, confidence=0.3,
        delta=DELTA_STATE_NEW, evidence=EVIDENCE_CLASS_ASSERTED, valid_from=Timestamp(),
        signals=[
            SignalScore(signal=SIGNAL_LEXICAL, raw=3.25, contribution=0.125, rank=2),
            SignalScore(signal=SIGNAL_VECTOR, raw=0.75, contribution=0.375, rank=1),
        ],
    )  # fmt: skip
    text = Page(pack_page("x", response(item))).text

    for told in ("hypothesis", "confidence 0.30", "new", "asserted", "since 1970-01-01", "score 0.500"):
        assert told in text
    assert "words3.250.1252meaning0.750.3751" in text


def test_nothing_is_loaded_and_both_schemes_are_there() -> None:
    """OP-2: one file; no script, no address but of provenance; light and dark by the reader's wish."""
    source = pack_page("x", response(PackItem(number=1, provenance=[link("https://example.org")])))

    page = Page(source)
    assert page.values("src") == []
    assert not {"script", "link", "iframe", "img", "object", "base"} & {tag for tag, _ in page.elements}
    assert "url(" not in source
    assert "@import" not in source
    assert "prefers-color-scheme: dark" in source
    assert any("default-src 'none'" in content for content in page.values("content"))


def test_an_empty_pack_says_why() -> None:
    """RE-4: the reason; of a delta that there is nothing new; and what took no part."""
    missing = Degradation(signal=SIGNAL_VECTOR, cause=DEGRADATION_CAUSE_TIMEOUT)
    text = Page(pack_page("x", response(abstention=ABSTENTION_NO_CANDIDATES, degraded=[missing]))).text
    assert "no signal found anything" in text
    assert "meaning did not take part: timeout" in text
    assert "Nothing is new, changed or no longer true since pack-0" in pack_page("x", response(), since="pack-0")
