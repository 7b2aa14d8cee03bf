"""Documents, chunks, links, sources, vaults and snapshots."""

import hashlib
from collections.abc import Iterable
from typing import Any

from palimpsest.v1.document_pb2 import (
    CONTENT_SOURCE_CHUNKS,
    CONTENT_SOURCE_ORIGINAL,
    ChunkedText,
    DocumentAssertion,
    InputChunk,
    Source,
)
from palimpsest.v1.entity_pb2 import EntityAssertion
from palimpsest.v1.fact_pb2 import FACT_CLOSURE_SNAPSHOT, FactObject
from palimpsest.v1.link_pb2 import LinkAssertion, LinkTarget
from palimpsest.v1.observation_pb2 import Assertion
from palimpsest.v1.reference_pb2 import ORIGIN_VAULT, Provenance, SourceIdentity
from palimpsest.v1.retrieval_pb2 import MetaCondition, SearchFilter
from palimpsest.v1.writer_service_pb2 import (
    ReconcileSnapshotRequest,
    ReconcileSnapshotResponse,
    SnapshotHead,
    SnapshotItem,
    SnapshotItems,
    SnapshotRelation,
)

from cli.conformance.building import SYSTEM, at, document, entity, link, observation, ref, source
from cli.conformance.expecting import expect, missing, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_MARKDOWN = (
    "---\ntitle: Отчёт\n---\r\n\n# Шлюз\n\nШлюз перезапускается ночью. Е\u0308лка!\n\n## Retries\n\n"
    + "The gateway retries three times, then gives up.  \n" * 60
    + "\n```\ncode\n\n# no heading\n```\n\n\n"
)


@tries("DO-1")
def texts_come_back(probe: Probe) -> None:
    """An article comes back byte for byte, a pre-chunked one from its chunks, each with its provenance whole."""
    place = probe.place()
    provenance = Provenance(
        repository="repo", branch="main", commit_sha="abc", path="docs/a.md", content_hash="sha256:1", author="Anna",
        committed_at=at(1), indexed_at=at(2), uri="https://example.org/a",
    )  # fmt: skip
    _retain(place, "doc:a", _MARKDOWN, "1", provenance=provenance)
    back = place.ask("GetSource", entity=ref("doc:a"))
    same((back.content_source, back.provenance), (CONTENT_SOURCE_ORIGINAL, provenance), "origin and provenance")
    expect(back.text.encode() == _MARKDOWN.encode(), "the text is not that which was sent")
    parts = ["один ", "two\n", "три"]
    chunked = ChunkedText(chunks=[InputChunk(text=each, heading="H") for each in parts])
    said = DocumentAssertion(entity=ref("doc:b"), chunked=chunked)
    place.do("RetainDocument", document=said, source=source("2"), occurred_at=at(1), provenance=provenance)
    back = place.ask("GetSource", entity=ref("doc:b"))
    found = back.content_source, back.text, back.provenance
    same(found, (CONTENT_SOURCE_CHUNKS, "".join(parts), provenance), "what is rebuilt from chunks")


@tries("DO-2")
def chunks_lose_nothing(probe: Probe) -> None:
    """Chunks follow headings and joined are the text; a shorter version drops the rest; tags can be filtered on."""
    place = probe.place()
    _retain(place, "doc:a", _MARKDOWN, "1", meta='{"collection": "handbook"}')
    chunks = _chunks(place, "doc:a")
    expect("".join(each.text for each in chunks) == _MARKDOWN, "chunks joined are not the text")
    same([each.ordinal for each in chunks], list(range(len(chunks))), "the ordinals")
    expect(len(chunks) > 1 and any("Retries" in each.heading for each in chunks), "chunks do not follow headings")
    expect(not any("no heading" in each.heading for each in chunks), "a line of code was taken for a heading")
    for value, wanted in (("handbook", True), ("other", False)):
        condition = MetaCondition(key="collection", equals=value)
        found = place.found("gateway retries", filter=SearchFilter(meta=[condition]), keep_irrelevant=True)
        same(bool(found), wanted, f"whether chunks of the collection {value!r} are found")
    _retain(place, "doc:a", "Short now.", "2", days=5)
    same([each.text for each in _chunks(place, "doc:a")], ["Short now."], "the chunks of a shorter version")


@tries("DO-3")
def title_and_heading_are_embedded(probe: Probe) -> None:
    """The hash of what is embedded is that of title, heading and text together."""
    place = probe.place()
    _retain(place, "doc:a", "# Шлюз\n\nПерезапуск ночью.\n", "1", title="Руководство")
    for each in _chunks(place, "doc:a"):
        head = " — ".join(filter(None, (each.title, each.heading)))
        wanted = hashlib.sha256(f"{head}\n{each.text}".encode()).hexdigest()
        same(each.content_hash, wanted, "the hash of what is embedded")


@tries("DO-4")
def unchanged_text_keeps_its_vector(probe: Probe) -> None:
    """Said again under another event, unchanged text has its vector at once, and only what changed waits."""
    place = probe.place()
    _retain(place, "doc:a", "# One\n\nThe first.\n\n# Two\n\nThe second.\n", "1")
    place.embedded()
    before = {each.content_hash: each.embedded for each in _chunks(place, "doc:a")}
    expect(before and all(before.values()), "a chunk has no vector after the wait")
    _retain(place, "doc:a", "# One\n\nThe first.\n\n# Two\n\nThe second.\n", "2", days=5)
    after = {each.content_hash: each.embedded for each in _chunks(place, "doc:a")}
    same(after, before, "hashes, and whether they have vectors, of a text that was said again")


@tries("DO-5")
def a_vault_is_swept(probe: Probe) -> None:
    """A complete pass removes the vault's article that it did not meet; an incomplete one removes nothing."""
    place = probe.place()
    place.say(entity("doc:agent", title="Agent's"))
    run = _pass(place, {"a": "alpha", "b": "beta"})
    same(place.do("CompleteVaultRun", vault_run_id=run).met, 2, "articles that were met")
    same(place.entity("doc:a").origin, ORIGIN_VAULT, "the origin")
    _pass(place, {"a": "alpha"})
    same(_documents(place), ["doc:a", "doc:agent", "doc:b"], "articles after a pass that was not completed")
    run = _pass(place, {"a": "alpha"})
    preview = place.do("CompleteVaultRun", vault_run_id=run, dry_run=True)
    same((preview.removed, _documents(place)), (1, ["doc:a", "doc:agent", "doc:b"]), "a preview")
    swept = place.do("CompleteVaultRun", vault_run_id=run)
    same((swept.removed, list(swept.removed_keys)), (1, ["doc:b"]), "what was removed")
    same(_documents(place), ["doc:a", "doc:agent"], "what is left")
    missing(lambda: place.entity("doc:b"))


@tries("DO-6")
def a_snapshot_is_a_difference(probe: Probe) -> None:
    """A second state adds, closes and leaves alone; a preview changes nothing; the same again is no change."""
    place = probe.place()
    first = _reconciled(place, "s1", {"team:red": ["person:anna"], "team:blue": []}, days=1)
    same((first.added, first.facts_asserted), (2, 1), "what was added")
    later = {"team:red": ["person:boris"], "team:green": []}
    preview = _reconciled(place, "s2", later, days=2, dry_run=True)
    seen = preview.added, preview.removed, preview.facts_asserted, preview.facts_closed
    same(seen, (1, 1, 1, 1), "what would be done")
    same([each.object.entity.key for each in _members(place)], ["person:anna"], "the state after a preview")
    done = _reconciled(place, "s2", later, days=2)
    same((done.added, done.removed, done.facts_asserted, done.facts_closed), seen, "what was done")
    same([each.object.entity.key for each in _members(place)], ["person:boris"], "the state")
    closed = [each for each in _members(place, include_history=True) if each.object.entity.key == "person:anna"]
    same([each.closure for each in closed], [FACT_CLOSURE_SNAPSHOT], "why the former one ended")
    before = place.ask("Digest").digest
    _reconciled(place, "s2", later, days=2)
    same(place.ask("Digest").digest, before, "the digest after the same snapshot")


@tries("DO-7")
def links_wait(probe: Probe) -> None:
    """A link to a source's id waits as a claim, once, and is drawn when the thing of that id arrives."""
    place = probe.place()
    target = LinkTarget(kind="issue", ref="OPS-1", source_hint=SYSTEM)
    waiting = Assertion(link=LinkAssertion(source=ref("doc:a"), relation="MENTIONS", reference=target))
    for _ in range(2):
        place.say(entity("doc:a", title="A"), waiting)
    same(len(place.ask("ListLinkClaims").claims), 1, "claims")
    place.say(entity("issue:OPS-1", kind="issue", title="Disk full", source_id="OPS-1"))
    around = place.ask("ListNeighbors", entity=ref("doc:a")).neighbors
    same([(each.step.relation, each.entity.natural_key) for each in around], [("MENTIONS", "issue:OPS-1")], "links")
    same(len(place.ask("ListLinkClaims").claims), 0, "claims after the target came")


@tries("DO-8")
def seen_together(probe: Probe) -> None:
    """As soon as a write is answered its body, chunks, words and links are there, without a token of it being old."""
    place = probe.place()
    for number in range(5):
        key = f"doc:{number}"
        place.say(document(key, f"The pelican number{number}."), link(key, "LINKS_TO", "topic:x"))
        found = place.found(f"number{number}", mode="SEARCH_MODE_LEXICAL", keep_irrelevant=True)
        parts = (
            place.ask("GetSource", entity=ref(key)).text,
            len(_chunks(place, key)),
            f"chunk:{key}#0" in found,
            [each.entity.natural_key for each in place.ask("ListNeighbors", entity=ref(key)).neighbors],
        )
        same(parts, (f"The pelican number{number}.", 1, True, ["topic:x"]), "body, chunks, words and links")


@tries("DO-9")
def a_deleted_source_vanishes(probe: Probe) -> None:
    """What came from a stream that is deleted is in no answer; another stream's stays; with purge it is erased."""
    place = probe.place()
    for stream in ("kept", "gone"):
        said = observation("1", document(f"doc:{stream}", "The curlew sings."), stream=stream)
        place.record(said)
    registered = Source(system=SYSTEM, stream="gone", authority=0.5)
    place.do("RegisterSource", source=registered)
    same([each.stream for each in place.ask("ListSources").sources], ["gone"], "the registered sources")
    place.do("DeleteSource", system=SYSTEM, stream="gone")
    found = place.found("curlew sings", keep_irrelevant=True, mode="SEARCH_MODE_LEXICAL")
    expect("chunk:doc:kept#0" in found, "what came from another stream is not found")
    expect(not any("doc:gone" in each for each in found), "what came from a deleted source is found")
    missing(lambda: place.entity("doc:gone"))
    receipt = place.do("DeleteSource", system=SYSTEM, stream="gone", purge=True).receipt
    expect(receipt.receipt_id and receipt.counts["observations"], "the receipt names no observations")
    missing(lambda: place.ask("GetSource", entity=ref("doc:gone")))


def _retain(place: Place, key: str, text: str, event: str, *, days: float = 0, **fields: Any) -> None:
    provenance = {"provenance": fields.pop("provenance")} if "provenance" in fields else {}
    article = DocumentAssertion(entity=ref(key), text=text, **fields)
    place.do("RetainArticle", article=article, source=source(event), occurred_at=at(days), **provenance)


def _chunks(place: Place, key: str) -> list[Any]:
    return list(place.ask("ListChunks", entity=ref(key), page_size=1000).chunks)


def _pass(place: Place, files: dict[str, str]) -> str:
    run: str = place.do("BeginVaultRun", vault="conformance").vault_run_id
    for name, text in files.items():
        place.do(
            "RetainArticle", article=DocumentAssertion(entity=ref(f"doc:{name}"), text=text),
            source=SourceIdentity(system=SYSTEM, stream="vault", external_id=name, revision=text), occurred_at=at(),
            vault_run_id=run,
        )  # fmt: skip
    return run


def _documents(place: Place) -> list[str]:
    return [each.natural_key for each in place.ask("ListEntities", key_prefix="doc:").entities]


def _reconciled(
    place: Place, snapshot_id: str, teams: dict[str, list[str]], *, days: float, dry_run: bool = False
) -> ReconcileSnapshotResponse:
    head = SnapshotHead(
        namespace=place.name, source=SYSTEM, scope="teams", snapshot_id=snapshot_id, taken_at=at(days), dry_run=dry_run
    )
    items = [
        SnapshotItem(
            entity=EntityAssertion(entity=ref(team), title=team),
            relations=[SnapshotRelation(relation="HAS", object=FactObject(entity=ref(each))) for each in members],
        )
        for team, members in teams.items()
    ]
    parts: Iterable[ReconcileSnapshotRequest] = (
        ReconcileSnapshotRequest(head=head),
        ReconcileSnapshotRequest(items=SnapshotItems(items=items)),
    )
    answer: ReconcileSnapshotResponse = place.probe.client.writer.ReconcileSnapshot(iter(parts), timeout=60)
    return answer


def _members(place: Place, **fields: Any) -> list[Any]:
    return list(place.ask("ListFacts", predicate="HAS", **fields).facts)
