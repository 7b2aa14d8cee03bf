"""Random memories with personal data planted in everything that can hold a text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from palimpsest.v1.document_pb2 import ChunkedText, DocumentAssertion, InputChunk
from palimpsest.v1.fact_pb2 import FactAssertion, FactObject, FactRetraction, Literal
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Preference, Reflection, Rule, RuleScope, Skill
from palimpsest.v1.reference_pb2 import EntityRef, Provenance, TypedId

from bench.personal_samples import POSITIVE, SENTENCES
from shared.personal_data.folding import fold
from tests.integration.writing import article, claim, entity, fact_id, link, observation

KEYS = ("person:ann", "person:bob", "project:atlas", "service:gate", "note")
NAMES = ("Аристарх Преображенский", "Philippa Montgomery-Jones", "Ефросинья Рукавишникова")
"""What entities declare to be somebody's name."""


def normal(text: str) -> str:
    """A text as planted values are sought in it: letters and digits alone, of one kind and in one case."""
    return "".join(filter(str.isalnum, fold(text).text.casefold().replace("ё", "е")))


def essence(value: str) -> str:
    """What of a value must not be told: of a phone the ten last digits, else all that is no space or mark."""
    plain = normal(value)
    return plain[-10:] if plain.isdigit() and len(plain) == 11 else plain


@dataclass
class PersonalWorld:
    """What was said, and what of it nobody without the clearance may read."""

    said: list[Observation] = field(default_factory=list)
    planted: set[str] = field(default_factory=set)
    keys_with_values: set[str] = field(default_factory=set)

    def fact_ids(self) -> list[str]:
        """The facts that are asserted."""
        assertions = [each for one in self.said for each in one.assertions]
        return list(dict.fromkeys(fact_id(each) for each in assertions if each.HasField("fact")))

    def found_in(self, texts: Iterator[str]) -> set[str]:
        """Planted values that one of the texts tells."""
        whole = "\n".join(map(normal, texts))
        return {value for value in self.planted if essence(value) in whole}


def personal_world(chance: Random, *, said: int = 4) -> PersonalWorld:
    """A world of so many observations."""
    return _Maker(chance).made(said)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class _Maker:
    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._world = PersonalWorld()

    def made(self, said: int) -> PersonalWorld:
        for number in range(said):
            self._world.said.append(self._observation(number))
        return self._world

    def value(self, *categories: str) -> tuple[str, str]:
        """A category and a new value of it, with which nothing else begins."""
        category = self._chance.choice(categories or tuple(POSITIVE))
        # Digits alone are a phone only where a word says so, which not every field has.
        while True:
            value = self._chance.choice(POSITIVE[category])(self._chance)
            if not (value.isdigit() and len(value) == 10 and category != "passport_rf"):
                break
        self._world.planted.add(value)
        return category, value

    def text(self) -> str:
        """A sentence with a value in it."""
        category, value = self.value()
        return self._chance.choice(SENTENCES[category]).format(value).replace('"', "'")

    def plain(self) -> str:
        """A value that tells by itself what it is."""
        return self.value("email", "card", "snils")[1]

    def key(self) -> str:
        if self._chance.random() < 0.7:
            return self._chance.choice(KEYS)
        key = f"person:{self.value('email')[1]}"
        self._world.keys_with_values.add(key)
        return key

    def _observation(self, number: int) -> Observation:
        kind, name = self.key().partition(":")[::2]
        return observation(
            str(number),
            *(make() for make in self._chance.sample(self._assertions(), 5)),
            minutes=number,
            content=f"{self.text()}. The gateway of payments renews its certificate. {self.text()}",
            data=_json({"phone": self.value("phone")[1], "list": [self.text(), {"e": self.plain()}], "n": 2**60}),
            **({"actor": TypedId(type=kind, id=name)} if name else {}),
            provenance=Provenance(
                uri=f"https://example.com/{self.value('email')[1].replace('@', '%40')}",
                author=self.plain(),
                extra={"contact": self.text(), self.plain(): "key"},
            ),
        )

    def _assertions(self) -> Sequence[object]:
        return [
            self._entity,
            self._declaring,
            self._fact,
            self._number_fact,
            self._json_fact,
            self._article,
            self._chunks,
            self._episode,
            self._skill,
            self._reflection,
            self._preference,
            self._rule,
            lambda: link(self.key(), "DEPENDS_ON", self.key()),
            lambda: claim(self.key(), "LINKS_TO", "page", self.plain()),
            self._retraction,
        ]  # fmt: skip

    def _entity(self) -> Assertion:
        attributes = {"contact": self.text(), "card": self.value("card")[1], "deep": {"inn": self.value("inn")[1]}}
        return entity(
            self.key(),
            title=f"About {self.text()}",
            aliases=[self.plain(), "gate"],
            attributes=_json(attributes),
            url=f"https://example.com/?email={self.value('email')[1]}",
            author=self.plain(),
            source_path=f"/home/{self.plain()}/note.md",
        )

    def _declaring(self) -> Assertion:
        name = self._chance.choice(NAMES)
        address = f"улица {self._chance.choice(('Лиственная', 'Хвойная'))}, дом {self._chance.randint(100, 999)}"
        self._world.planted |= {name, address}
        return entity(
            "person:ann", title=name, pii_categories=["fio", "address"], attributes=_json({"address": address})
        )

    def _fact(self) -> Assertion:
        category, value = self.value("phone", "email", "snils", "card", "inn", "passport_rf")
        target = FactObject(literal=Literal(text=value))
        predicate = category.upper().replace("_RF", "")
        return Assertion(
            fact=FactAssertion(
                subject=EntityRef(key=self.key()),
                predicate=predicate,
                object=target,
                attributes=_json({"said": self.text()}),
                source_path=self.plain(),
            )
        )

    def _number_fact(self) -> Assertion:
        _, value = self.value("card")
        digits = "".join(filter(str.isdigit, value))
        literal = Literal(integer=int(digits)) if self._chance.random() < 0.5 else Literal(decimal=digits)
        return Assertion(
            fact=FactAssertion(subject=EntityRef(key=self.key()), predicate="CARD", object=FactObject(literal=literal))
        )

    def _json_fact(self) -> Assertion:
        target = FactObject(literal=Literal(json=_json([self.text(), {"phone": self.value("phone")[1]}])))
        return Assertion(fact=FactAssertion(subject=EntityRef(key=self.key()), predicate="KNOWS", object=target))

    def _article(self) -> Assertion:
        text = f"# {self.text()}\n\nThe gateway.\n\n## Contacts\n\n{self.text()}\n\n{self.text()}\n"
        return article("note", text, title=self.text(), meta=_json({"who": self.text()}))

    def _chunks(self) -> Assertion:
        chunks = [InputChunk(text=self.text(), heading=self.text(), meta=_json({"to": self.plain()}))]
        return Assertion(
            document=DocumentAssertion(entity=EntityRef(key="service:gate"), chunked=ChunkedText(chunks=chunks))
        )

    def _episode(self) -> Assertion:
        return Assertion(
            episode=Episode(
                summary=f"Called the gateway: {self.text()}",
                actor=EntityRef(key=self.key()),
                action="called",
                result=self.text(),
                context=_json({"phone": self.value("phone")[1]}),
                artifacts=[f"mailto:{self.plain()}"],
            )
        )

    def _record(self, **body: object) -> Assertion:
        return Assertion(record=MemoryRecord(summary=f"Gateway: {self.text()}", **body))  # type: ignore[arg-type]

    def _skill(self) -> Assertion:
        return self._record(skill=Skill(applies_when=[self.text()], goal=self.text(), steps=[self.text(), self.text()]))

    def _reflection(self) -> Assertion:
        return self._record(reflection=Reflection(trigger=self.text(), lesson=self.text(), evidence=[self.text()]))

    def _preference(self) -> Assertion:
        holder = EntityRef(key=self.key())
        return self._record(preference=Preference(holder=holder, topic="contact", value=self.text()))

    def _rule(self) -> Assertion:
        return self._record(rule=Rule(text=self.text(), scope=RuleScope.RULE_SCOPE_GLOBAL))

    def _retraction(self) -> Assertion:
        known = self._world.fact_ids()
        if not known:
            return self._fact()
        return Assertion(retraction=FactRetraction(fact_id=self._chance.choice(known), reason=self.text()))
