"""CP-4: a quote stands in the text or it does not, and ends are known or they are not."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from services.writer.extraction.grounding import Ground, grounded_entities, verified
from services.writer.extraction.proposals import EntityProposal, FactProposal, GroundedFact
from services.writer.extraction.quotes import QuotedText, comparable
from shared.errors import PalimpsestError

SAID = "Для проекта «Альфа» решили\n запускать отчёты  по понедельникам. Я буду следить, Иван поможет."

texts = st.text(st.one_of(st.characters(), st.sampled_from("ёЁйÄé\u0301\u0308\u1100\u1161\u11a8İΣ \n\u00a0\u200b")))


@given(texts)
def test_parts_together_are_the_whole(text: str) -> None:
    """OB-8: the form in which quotes are compared is the normal form, whatever is composed with what."""
    assert QuotedText(text)._form.strip() == comparable(text)


@given(texts, st.data())
def test_a_quote_is_found_where_it_stands(text: str, data: st.DataObject) -> None:
    """CP-4: what the span holds says, in normal form, what was quoted."""
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    changed = unicodedata.normalize(data.draw(st.sampled_from(["NFC", "NFD"])), quote)
    span = QuotedText(text).find(changed)
    if len(comparable(quote)) < 6:
        assert span is None
    elif comparable(quote) in comparable(text):
        assert span is not None
        assert comparable(quote) in comparable(text[span[0] : span[1]])


def test_spans_are_of_the_text_as_it_is() -> None:
    """CP-4: case, letters and white space may differ; offsets are those of the text."""
    start, end = QuotedText(SAID).find("АЛЬФА» решили запускать отчеты по") or (0, 0)
    assert SAID[start:end] == "Альфа» решили\n запускать отчёты  по"
    assert QuotedText(SAID).find("Альфа") is None
    assert QuotedText(SAID).find("отчёты по вторникам") is None


def fact(subject: str, value: str, quote: str = "решили запускать отчёты", is_entity: bool = True) -> FactProposal:
    return FactProposal(subject, "RUNS", value, is_entity, quote)


def reasons(*facts: FactProposal, **ground: object) -> list[str]:
    """The reason of each refusal; empty for what is accepted."""
    found = verified(facts, Ground(QuotedText(SAID), **ground))  # type: ignore[arg-type]
    return [each.reason if isinstance(each, PalimpsestError) else "" for each in found]


def test_what_is_not_grounded_is_refused() -> None:
    """CP-4: invented quotes, short ones, and ends that nobody knows."""
    assert reasons(
        fact("Альфа", "отчёты"),
        fact("альфа", "ОТЧЕТЫ"),
        fact("project:Альфа", "17", is_entity=False),
        fact("Альфа", "отчёты", "решили отказаться"),
        fact("Альфа", "отчёты", "решил"),
        fact("Бета", "отчёты"),
        fact("Альфа", "Бета"),
        fact("Альфа", "Бета", is_entity=False),
        fact("a\0b", "отчёты"),
    ) == ["", "", "", "UNGROUNDED_QUOTE", "UNGROUNDED_QUOTE", "UNKNOWN_END", "UNKNOWN_END", "", "INVALID_FIELD"]


def test_what_is_known_need_not_be_in_the_text() -> None:
    """CP-4: the author, and what is stored."""
    known = {"author_key": "person:alice", "stored": {"project:beta"}}
    assert reasons(fact("alice", "project:beta"), fact("person:Alice", "отчёты"), **known) == ["", ""]
    assert reasons(fact("alice", "project:beta")) == ["UNKNOWN_END"]
    [mine] = verified([fact("Я", "отчёты")], Ground(QuotedText(SAID), "person:alice"))
    assert isinstance(mine, GroundedFact)
    assert mine.subject_key == "person:alice"


def test_entities_give_their_kind_where_their_quote_names_them() -> None:
    """CP-4: each entity quotes the text."""
    ground = Ground(QuotedText(SAID))
    proposed = [
        EntityProposal("Альфа", "project", "проекта «Альфа»"),
        EntityProposal("Иван", "person", "Иван поможет"),
        EntityProposal("Бета", "project", "проекта «Альфа»"),
        EntityProposal("Гамма", "project", "проекта Гамма"),
        EntityProposal("отчёты", "NOT A KIND", "отчёты по понедельникам"),
    ]
    entities = grounded_entities(proposed, ground)
    assert [each.key for each in entities] == ["project:Альфа", "person:Иван", "отчёты"]
    [found] = verified([fact("альфа", "Иван")], ground, entities)
    assert isinstance(found, GroundedFact)
    assert (found.subject_key, found.object_key) == ("project:Альфа", "person:Иван")
    assert SAID[slice(*found.span)] == "решили\n запускать отчёты"
