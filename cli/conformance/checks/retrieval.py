"""What is found, by which signals, and when nothing is."""

from palimpsest.v1.embedder_service_pb2 import INPUT_TYPE_QUERY
from palimpsest.v1.retrieval_pb2 import (
    ABSTENTION_NO_CANDIDATES,
    ABSTENTION_UNSPECIFIED,
    ITEM_KIND_CHUNK,
    SIGNAL_GRAPH,
    SIGNAL_LEXICAL,
    SIGNAL_TIME,
    SIGNAL_TRIGRAM,
    SIGNAL_VECTOR,
    SearchFilter,
)

from cli.conformance.building import document, entity, fact, link, ref
from cli.conformance.checks.embedding import cosine, embedded
from cli.conformance.expecting import expect, invalid, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_NOTES = {
    "reports": "Отчёты по проекту Альфа выпускаем по средам.",
    "gateway": "The gateway retries failed requests three times, then opens the circuit breaker.",
    "lake": "Озеро замёрзло в ноябре, и лодки убрали на берег.",
    "billing": "Invoices of INV-77123 are sent on the first day of each month by the billing service.",
    "kettle": "Чайник на кухне сломался, купили новый.",
    "backup": "Backups of the database are copied to another region every night.",
}
_NEAR = 0.005


@tries("RE-1")
def words_and_names_find(probe: Probe) -> None:
    """Russian and English word forms, an identifier, and a misspelt name find what they mean, each by its signal."""
    place = told(probe)
    place.say(entity("person:tikhomirov", title="Тихомиров Всеволод", aliases=["Vsevolod Tikhomirov"]))
    for query, wanted in (
        ("отчёт проекта Альфы", "reports"), ("среда отчет", "reports"), ("retry of a failing request", "gateway"),
        ("INV-77123", "billing"), ("лодка на берегу озера", "lake"),
    ):  # fmt: skip
        hits = place.search(query, mode="SEARCH_MODE_LEXICAL", keep_irrelevant=True).hits
        expect(hits and hits[0].item_id == f"chunk:doc:{wanted}#0", f"the words of {wanted!r} do not find it first")
        signals = {each.signal for each in hits[0].signals}
        expect(signals <= {SIGNAL_LEXICAL, SIGNAL_TRIGRAM}, "a search by words used another signal")
    misspelt = place.search("Тихомироф", mode="SEARCH_MODE_LEXICAL", keep_irrelevant=True).hits
    expect("person:tikhomirov" in [hit.item_id for hit in misspelt], "a misspelt name is not found")


@tries("RE-1")
def meaning_and_graph_find(probe: Probe) -> None:
    """Meaning alone finds across languages, the graph alone what is near a named thing, all together both."""
    place = told(probe)
    place.say(
        entity("page:gateway", title="Pylon gateway"), entity("page:balancer", title="Balancer"),
        document("page:balancer", "The balancer keeps certificates of the pylon for ninety days and reloads them."),
        link("page:gateway", "LINKS_TO", "page:balancer"),
    )  # fmt: skip
    place.embedded()
    question = "when are weekly summaries published?"
    by_meaning = place.search_whole(question, mode="SEARCH_MODE_VECTOR", keep_irrelevant=True)
    same({each.signal for hit in by_meaning.hits for each in hit.signals}, {SIGNAL_VECTOR}, "the signals of meaning")
    top = [hit.item_id for hit in by_meaning.hits[:4]]
    expect("chunk:doc:reports#0" in top, "a question in another language does not find the text by meaning")
    query = "who keeps the certificates of the Pylon gateway"
    by_graph = place.search(query, mode="SEARCH_MODE_GRAPH", keep_irrelevant=True).hits
    same({each.signal for hit in by_graph for each in hit.signals}, {SIGNAL_GRAPH}, "the signals of the graph")
    expect(any("page:balancer" in hit.item_id for hit in by_graph), "the graph does not lead to a neighbour")
    fused = place.search_whole("Pylon gateway")
    expect({SIGNAL_LEXICAL, SIGNAL_VECTOR} <= {each.signal for hit in fused.hits for each in hit.signals},
           "words and meaning are not joined")  # fmt: skip


@tries("RE-1")
def time_expressions_find(probe: Probe) -> None:
    """«в мае» and "last week" prefer what happened then, by the caller's clock."""
    place = probe.place()
    clock = "2020-06-15T12:00:00+03:00"
    for name, day in (("march", 70), ("may", 135), ("june", 163)):
        place.say(document(f"doc:{name}", "Чинили таймауты шлюза. Timeouts of the gateway were fixed."), days=day)
    place.embedded()
    for query, wanted in (("что чинили в шлюзе в мае", "may"), ("timeouts fixed last week", "june")):
        hits = place.search(query, caller_time=clock, keep_irrelevant=True).hits
        by_time = [hit.item_id for hit in hits if SIGNAL_TIME in {each.signal for each in hit.signals}]
        same(by_time, [f"chunk:doc:{wanted}#0"], f"what the time of {query!r} lifts")
        same(hits[0].item_id, by_time[0], f"what {query!r} finds first")


@tries("RE-2")
def the_nearest_are_found(probe: Probe) -> None:
    """The ten nearest by meaning are those that comparing all vectors here finds."""
    place = probe.place()
    subjects = ("gateway", "billing", "чайник", "отчёт", "backup", "озеро", "invoice", "лодка", "circuit", "region")
    verbs = ("fails", "сломался", "is copied", "замёрзло", "restarts")
    for subject in subjects:
        place.say(*(document(f"doc:{subject}-{verb}".replace(" ", "_"), f"{subject} {verb} again") for verb in verbs))
    place.embedded()
    query = "the payment service went down"
    answer = place.search_whole(
        query, mode="SEARCH_MODE_VECTOR", keep_irrelevant=True, limit=10,
        filter=SearchFilter(item_kinds=[ITEM_KIND_CHUNK]),
    )  # fmt: skip
    chunks = {
        f"chunk:{key}#0": place.ask("ListChunks", entity=ref(key)).chunks[0]
        for key in (each.natural_key for each in place.ask("ListEntities", key_prefix="doc:", page_size=100).entities)
    }
    passages = [f"{each.title} — {each.heading}\n{each.text}" if each.heading else f"{each.title}\n{each.text}"
                for each in chunks.values()]  # fmt: skip
    [asked] = embedded(probe, [query], INPUT_TYPE_QUERY)
    near = {key: cosine(asked, each) for key, each in zip(chunks, embedded(probe, passages), strict=True)}
    worst = sorted(near.values(), reverse=True)[9]
    found = [hit.item_id for hit in answer.hits]
    same(len(found), 10, "chunks that were found")
    expect(all(near[each] >= worst - _NEAR for each in found), "one that is farther is found before a nearer one")


@tries("RE-3")
def walks_are_bounded(probe: Probe) -> None:
    """Three steps lead to the fourth node of a chain and no farther; four are refused; what is cut off is told."""
    place = probe.place()
    place.say(*(fact(f"node:{each}", "LEADS_TO", f"node:{each + 1}") for each in range(6)))
    answer = place.ask("Traverse", anchors=[ref("node:0")], depth=3)
    same(max(len(each.steps) for each in answer.paths), 3, "the longest path")
    reached = {key for each in answer.paths for key in each.entity_keys}
    expect("node:3" in reached and "node:4" not in reached, f"three steps reach {sorted(reached)}")
    for each in answer.paths:
        same(len(set(each.entity_keys)), len(each.entity_keys), "nodes of a path that are visited once")
    invalid(lambda: place.ask("Traverse", anchors=[ref("node:0")], depth=4), "depth")
    place.say(*(fact("node:hub", "HAS", f"leaf:{each}") for each in range(20)))
    cut = place.ask("Traverse", anchors=[ref("node:hub")], depth=1, limit=5)
    same((len(cut.paths), cut.truncated), (5, True), "paths, and whether it is told that some are missing")


@tries("RE-4")
def nothing_is_better_than_nonsense(probe: Probe) -> None:
    """A question about nothing that is known has an empty answer and pack with a reason; so has an empty memory."""
    place = probe.place()
    same(place.search("anything at all").abstention, ABSTENTION_NO_CANDIDATES, "why an empty memory answers nothing")
    place = told(probe)
    place.embedded()
    for query in ("How long should spaghetti boil?", "кто написал симфонию для виолончели"):
        answer = place.search(query)
        same([hit.item_id for hit in answer.hits], [], "what is found of what nobody said")
        expect(answer.abstention != ABSTENTION_UNSPECIFIED, "an empty answer does not say why")
        packed = place.pack(query)
        same((len(packed.pack.items), packed.pack.rendered), (0, ""), "a pack about what nobody said")
        expect(packed.abstention != ABSTENTION_UNSPECIFIED, "an empty pack does not say why")


@tries("RE-5")
def three_different_things(probe: Probe) -> None:
    """A full answer has no reason to be empty, an empty one has, a failed one is an error; degraded names a signal."""
    place = told(probe)
    place.embedded()
    full = place.search("how often does the gateway retry failed requests?")
    expect(full.hits and full.abstention == ABSTENTION_UNSPECIFIED, "a question that is answered has no hits")
    empty = place.search("How long should spaghetti boil?")
    expect(not empty.hits and empty.abstention, "an empty answer has no reason")
    expect(all(each.signal and each.cause for each in (*full.degraded, *empty.degraded)), "a degradation has no cause")
    invalid(lambda: place.ask("Search", query=""), "query")


def told(probe: Probe) -> Place:
    """A namespace with a few notes in two languages."""
    place = probe.place()
    for day, (name, text) in enumerate(_NOTES.items()):
        place.say(document(f"doc:{name}", text, title=name.capitalize()), days=day)
    return place
