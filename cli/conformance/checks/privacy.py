"""Personal data: marked, masked, and audited where it leaves."""

from palimpsest.client import Client
from palimpsest.v1.reader_service_pb2 import GetEntityResponse

from cli.conformance.building import document, entity, ref
from cli.conformance.expecting import expect, same
from cli.conformance.outcome import Unseen
from cli.conformance.probe import Place, Probe
from cli.conformance.registry import tries

_PHONE, _EMAIL, _CARD = "+7 916 123-45-67", "ivan@example.com", "4111 1111 1111 1111"


@tries("PR-1")
def personal_data_is_marked(probe: Probe) -> None:
    """Where it is protected an entity is marked by what was found and declared; a card with wrong digits is none."""
    place = _protected(probe)
    place.say(entity("person:ivan", title=f"Иван, {_PHONE}, {_EMAIL}", pii_categories=["fio"]))
    found = set(place.entity("person:ivan").pii_categories)
    same(found, {"phone", "email", "fio"}, "the categories")
    place.say(entity("order:1", title="Order 4111 1111 1111 1112"))
    same(list(place.entity("order:1").pii_categories), [], "the categories of a number that is no card")


@tries("PR-1")
def personal_data_is_masked(probe: Probe) -> None:
    """Without the clearance no answer has the phone, the address or the card, by id, list, search, pack or source."""
    place = _protected(probe)
    text = f"Иван, {_PHONE}, {_EMAIL}, card {_CARD}, siskin"
    place.say(entity("person:ivan", title=text), document("doc:ivan", text), content=text)
    caller = _uncleared(place)
    answers = [
        place.ask("GetEntity", caller=caller, entity=ref("person:ivan")),
        place.ask("ListEntities", caller=caller),
        place.ask("ListObservations", caller=caller),
        place.ask("GetSource", caller=caller, entity=ref("doc:ivan")),
        place.ask("ListChunks", caller=caller, entity=ref("doc:ivan")),
        place.search("siskin", caller=caller, keep_irrelevant=True),
        place.ask("CompileContext", caller=caller, query="siskin"),
    ]
    for answer in answers:
        raw = answer.SerializeToString().decode("utf-8", "replace")
        for value in (_PHONE, _EMAIL, _CARD, "916 123"):
            expect(value not in raw, f"personal data is in {type(answer).__name__}")
    expect("siskin" in answers[0].entity.title, "more is masked than personal data")


@tries("PR-2")
def who_is_cleared_is_audited(probe: Probe) -> None:
    """An answer with personal data is in the audit by the time it comes, by category and without the values."""
    place = _protected(probe)
    place.say(entity("person:ivan", title=f"Иван, {_PHONE}"))
    answer: GetEntityResponse = place.ask("GetEntity", entity=ref("person:ivan"))
    if _PHONE not in answer.entity.title:
        raise Unseen("the token has no clearance for personal data")
    events = place.ask("ListAuditEvents", action="pii_access").events
    expect(events, "an unmasked answer is not in the audit")
    same(events[-1].target, "person:ivan", "what the event names")
    expect("phone" in events[-1].details, "the event tells no category")
    expect(_digits(_PHONE) not in _digits(str(events)), "the event tells the value")


def _digits(text: str) -> str:
    """A number as it is however it is written; all of its digits, for a few of them are in any time or hash."""
    return "".join(filter(str.isdigit, text))


def _protected(probe: Probe) -> Place:
    place = probe.place()
    place.configure(pii_protection=True)
    return place


def _uncleared(place: Place) -> Client | None:
    """A caller without the clearance: this one, else the other. Raises Unseen where there is none."""
    if _is_masked(place, None):
        return None
    other = place.probe.outsider
    if other is None:
        raise Unseen("the token is cleared for personal data: give --outsider-token")
    expect(_is_masked(place, other), "personal data is unmasked for the other caller, who should have no clearance")
    return other


def _is_masked(place: Place, caller: Client | None) -> bool:
    return "[phone]" in place.ask("GetEntity", caller=caller, entity=ref("person:ivan")).entity.title
