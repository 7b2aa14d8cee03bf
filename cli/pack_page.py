"""A pack as one HTML page, whole in itself: no script, nothing loaded from elsewhere.

What is stored may be hostile. The page is built as a tree, never by joining strings, so that all text is escaped by
what prints the tree; of addresses only those of the web become links.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from palimpsest.v1.reader_service_pb2 import CompileContextResponse
from palimpsest.v1.retrieval_pb2 import ContextPack, PackItem, ProvenanceLink, SignalScore

from cli.output import safe, when
from cli.pack_text import rivals, why_no_pack
from cli.wording import QUERY_CUT, decided_by, degradations, kind_name, marks, signal_name, source_name

_STYLE = Path(__file__).with_name("pack_page.css").read_text(encoding="utf-8")
# Should anything get through after all, the browser runs and loads nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_OF_THE_WEB = re.compile(r"https?://[^\s\x00-\x20\x7f\\]+", re.IGNORECASE)


def pack_page(query: str, response: CompileContextResponse, *, since: str = "") -> str:
    """The page of a pack, or of why there is none."""
    page = _element("html", _head(query), _body(query, response, since), lang="en")
    return "<!doctype html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def _element(tag: str, *children: Element | str, **attributes: str) -> Element:
    """An element; strings are text. `class_` is the attribute `class`, `_` in others is `-`."""
    names = {"class_": "class"}
    element = Element(tag, {names.get(name, name.replace("_", "-")): safe(text) for name, text in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + safe(child)
        else:
            element.text = (element.text or "") + safe(child)
    return element


def _head(query: str) -> Element:
    return _element(
        "head",
        _element("meta", charset="utf-8"),
        _element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        _element("meta", name="referrer", content="no-referrer"),
        _element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        _element("title", f"Pack: {query}"),
        _element("style", _STYLE),
    )


def _body(query: str, response: CompileContextResponse, since: str) -> Element:
    pack = response.pack
    body = _element("body", _element("h1", query, dir="auto"), _element("p", _summary(response), class_="faint"))
    warnings = degradations(response.degraded) + ([QUERY_CUT] if response.query_truncated else [])
    body.extend(_element("p", line, class_="warning") for line in warnings)
    if not pack.items:
        body.append(_element("p", why_no_pack(response, since)))
        return body
    if since:
        body.append(_element("p", f"What is new, changed or no longer true since {since}."))
    body.extend(_item(pack, item) for item in pack.items)
    body.extend(_omitted(pack))
    rendered = _element("pre", pack.rendered, dir="auto")
    body.append(_element("details", _element("summary", "As it is given to a model"), rendered))
    return body


def _summary(response: CompileContextResponse) -> str:
    pack = response.pack
    parts = [pack.pack_id, f"{len(pack.items)} items, {pack.characters:,} characters, {pack.tokens:,} tokens"]
    if response.relevance.threshold:
        parts.append(decided_by(response.relevance))
    if response.trace_id:
        parts.append(f"trace {response.trace_id}")
    return " · ".join(parts)


def _item(pack: ContextPack, item: PackItem) -> Element:
    article = _element("article", id=_anchor(item.number))
    title = f"[{item.number}] {kind_name(item.kind)} {item.item_id}"
    article.append(_element("h2", title))
    if told := marks(item):
        article.append(_element("p", *(_element("span", mark, class_="mark") for mark in told)))
    article.append(_element("p", item.text, class_="text", dir="auto"))
    article.extend(_against(pack, item))
    if item.provenance:
        article.append(_element("ul", *map(_source, item.provenance), class_="sources"))
    article.append(_scores(item))
    return article


def _against(pack: ContextPack, item: PackItem) -> Iterator[Element]:
    """The facts that contradict an item: links to those that are on the page."""
    found = list(rivals(pack, item))
    if not found:
        return
    line: list[Element | str] = ["Contradicted by:"]
    for fact_id, number in found:
        line.append(" ")
        line.append(_element("a", f"[{number}] {fact_id}", href=f"#{_anchor(number)}") if number else fact_id)
    yield _element("p", *line, class_="warning")


def _source(link: ProvenanceLink) -> Element:
    """One step of the provenance: a link where the original has an address of the web."""
    if _OF_THE_WEB.fullmatch(link.uri):
        original = _element("a", link.uri, href=link.uri, rel="noopener noreferrer", dir="ltr")
    else:
        original = _element("span", link.uri or link.source.external_id, dir="auto")
    moment = _element("time", when(link.occurred_at), datetime=link.occurred_at.ToJsonString())
    actor = f" by {link.actor_key}" if link.actor_key else ""
    observation = _element("span", f" ({link.observation_id})", class_="faint")
    return _element("li", f"{source_name(link)}, ", moment, f"{actor} ", original, observation)


def _scores(item: PackItem) -> Element:
    head = _element("tr", *(_element("th", name) for name in ("signal", "raw", "contribution", "rank")))
    rows = map(_score, item.signals)
    caption = _element("figcaption", f"score {item.score:.3f}" if item.signals else "not found by itself")
    return _element("figure", caption, *([_element("table", head, *rows)] if item.signals else []))


def _score(signal: SignalScore) -> Element:
    rank = str(signal.rank) if signal.rank else ""
    cells = (signal_name(signal.signal), f"{signal.raw:.3g}", f"{signal.contribution:.3f}", rank)
    return _element("tr", *(_element("td", cell) for cell in cells))


def _omitted(pack: ContextPack) -> Iterator[Element]:
    if pack.omitted_count:
        yield _element("p", f"Relevant, but did not fit: {pack.omitted_count}", class_="faint")
        yield _element("ul", *(_element("li", item_id) for item_id in pack.omitted), class_="omitted")


def _anchor(number: int) -> str:
    return f"item-{number}"
