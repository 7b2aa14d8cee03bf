"""Conversations: whose evidence they are, what is taken out, what is proposed from them."""

from typing import Any

from palimpsest.v1.error_reason_pb2 import ERROR_REASON_UNGROUNDED_QUOTE, ERROR_REASON_UNKNOWN_END
from palimpsest.v1.fact_pb2 import EVIDENCE_CLASS_INFERRED
from palimpsest.v1.governance_pb2 import CapturedMessage, CaptureResult, ProposedFact

from cli.conformance.building import SYSTEM, at, document, fact, ref, typed
from cli.conformance.expecting import expect, same
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
_PASSWORD = "correct-horse-battery-9"


@tries("CP-1")
def only_allowed_authors_are_evidence(probe: Probe) -> None:
    """Of five messages only the allowed author's has an actor: no stranger's, no bot's, none that is unsigned."""
    place = probe.place()
    place.configure(capture_authors=["person:anna"])
    results = captured(
        place, _message("1", "I like green tea", "person:anna"), _message("2", "I like coffee", "person:boris"),
        _message("3", "I like milk", ""), _message("4", "I like water", "person:anna", bot=True),
        _message("5", "I like juice", "agent:helper", bot=True),
    )  # fmt: skip
    stored = [_stored(place, each) for each in results]
    same([each.actor.id for each in stored], ["anna", "", "", "", ""], "the actors")
    same({each.kind for each in stored}, {"message"}, "the kinds")
    same(
        [each.provenance.author for each in stored][:2], ["person:anna", "person:boris"], "who is said to have written"
    )


@tries("CP-2")
def what_the_memory_told_is_taken_out(probe: Probe) -> None:
    """A pack that comes back quoted, reflowed and cut is stripped, and what people wrote around it stays."""
    place = probe.place()
    place.say(fact("person:anna", "WORKS_ON", "project:alpha"),
              document("doc:a", "The nightly restart of the plover service is needed since March."))  # fmt: skip
    rendered = place.pack("anna works plover restart", mode="SEARCH_MODE_LEXICAL").pack.rendered
    expect(rendered, "the pack is empty")
    quoted = "\n".join(f"> {line}" for line in rendered.split("\n"))
    reflowed = " ".join(rendered.split())
    for number, block in enumerate((rendered, quoted, reflowed, rendered[: len(rendered) * 3 // 4])):
        [result] = captured(place, _message(f"m{number}", f"Мой вопрос остаётся.\n\n{block}", "person:anna"))
        expect(result.stripped_blocks, "a block that the memory told was not taken out")
        content = _stored(place, result).content
        expect("Мой вопрос остаётся" in content, "what people wrote is gone")
        expect("plover" not in content, "what the memory told is stored")
    expect(captured(place, _message("own", rendered, "person:anna"))[0].empty, "a message of a pack alone is stored")


@tries("CP-3")
def secrets_are_scrubbed(probe: Probe) -> None:
    """A token and a password are counted, and in no answer; the words around them stay."""
    place = probe.place()
    text = f"деплой: password: {_PASSWORD} и ключ {_SECRET} на сервере whimbrel"
    [result] = captured(place, _message("1", text, "person:anna"))
    same(result.scrubbed_secrets, 2, "secrets that were scrubbed")
    said = _stored(place, result)
    expect("whimbrel" in said.content, "the words around a secret are gone")
    answers = [
        place.ask("ListObservations"), place.search("whimbrel", keep_irrelevant=True),
        place.ask("GetSource", entity=ref(result.observation_id)), place.pack("whimbrel"),
    ]  # fmt: skip
    for answer in answers:
        raw = answer.SerializeToString()
        for secret in (_SECRET, _PASSWORD):
            expect(secret.encode() not in raw, f"a secret is in {type(answer).__name__}")


@tries("CP-4")
def proposals_must_quote(probe: Probe) -> None:
    """A proposal that quotes the text is inferred, with the quote's span; one that quotes nothing there is refused."""
    place = probe.place()
    text = "Решили: Ёлку ставит Иван, 28 декабря."
    said = place.say(content=text, actor=typed("person:boris"))
    results = place.do(
        "ProposeFacts", observation_id=said.observation_id, extracted_by="conformance@1",
        facts=[
            _proposal("Иван", "BRINGS", "елку", "елку ставит иван"),
            _proposal("Иван", "BRINGS", "ёлку", "ёлку приносит иван"),
            _proposal("Иван", "BRINGS", "ель", "ёлку ставит иван"),
        ],
    ).results  # fmt: skip
    reasons = [each.error.reason for each in results]
    same(reasons, [0, ERROR_REASON_UNGROUNDED_QUOTE, ERROR_REASON_UNKNOWN_END], "why they were refused")
    same(text[results[0].quote_start : results[0].quote_end], "Ёлку ставит Иван", "the quote's span")
    same(place.fact(results[0].fact_id).evidence, EVIDENCE_CLASS_INFERRED, "the class of a proposed fact")
    same(place.facts(), [results[0].fact_id], "facts")
    place.do("RedactObservation", observation_id=said.observation_id)
    same(place.facts(), [], "facts after what they quote was redacted")


@tries("CP-5")
def the_queue_is_shown(probe: Probe) -> None:
    """The queue counts what waits and what was given up, and no more than was queued."""
    place = probe.place()
    place.configure(capture_authors=["person:anna"])
    empty = place.ask("GetExtractionQueue").queue
    same((empty.depth, empty.dead_letters, empty.oldest_age_s), (0, 0, 0), "the queue of a new namespace")
    results = captured(place, _message("1", "I like tea", "person:anna"), _message("2", "I like it", "person:boris"))
    expect(not results[1].queued, "a stranger's message is queued for extraction")
    queue = place.ask("GetExtractionQueue").queue
    expect(queue.depth + queue.dead_letters <= results[0].queued, "more waits than was queued")
    same(place.do("RetryExtraction").requeued, queue.dead_letters, "dead letters that were put back")


def captured(place: Place, *messages: CapturedMessage) -> list[CaptureResult]:
    """Captures turns of one conversation; the results in order."""
    answer = place.do("CaptureMessages", conversation_id="room", system=SYSTEM, messages=messages)
    return list(answer.results)


def _message(message_id: str, text: str, author: str, **fields: Any) -> CapturedMessage:
    made: dict[str, Any] = {"message_id": message_id, "text": text, "sent_at": at(), **fields}
    return CapturedMessage(author=typed(author) if author else None, **made)


def _stored(place: Place, result: CaptureResult) -> Any:
    return place.ask("GetObservation", observation_id=result.observation_id).observation.observation


def _proposal(subject: str, predicate: str, value: str, quote: str) -> ProposedFact:
    return ProposedFact(subject=subject, predicate=predicate, object=value, quote=quote, object_is_entity=True)
