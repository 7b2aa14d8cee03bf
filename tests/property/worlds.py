"""Random memories of which an outsider may see a part: what is said openly, and what under labels that it lacks.

What is hidden speaks of open things too: it names them, is about them, contradicts them, stands between them. But it
does not act upon them: who retracts, supersedes or describes an open thing changes it for all who see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from palimpsest.v1.fact_pb2 import FactRetraction
from palimpsest.v1.namespace_pb2 import CARDINALITY_ONE, DomainPack, PackRelation
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Preference, Rule, RuleScope
from palimpsest.v1.reference_pb2 import EntityRef

from tests.integration.writing import article, claim, document, entity, fact, fact_id, link, observation, typed

OPEN_LABELS: Sequence[Sequence[str]] = (
    (),
    (),
    (),
    ("role:crew",),
    ("role:crew", "role:board"),
    ("project:atlas",),
    ("workspace:w", "principal:outsider"),
)
HIDDEN_LABELS: Sequence[Sequence[str]] = (
    ("role:board",),
    ("principal:boss",),
    ("workspace:w", "project:atlas"),
    ("role:board", "workspace:w"),
)
OPEN = ("person:ann", "person:bob", "project:atlas", "service:gate", "issue:7", "note", "place:north", "place:south")
HIDDEN = ("person:eve", "project:zeus", "service:gate2", "issue:8", "secret-note", "place:east", "person:ann2")
TITLES = ("Anna Petrova", "Anna Petrowa", "Project Atlas", "Project Atlas two", "Шлюз платежей", "Gate INV-77123")
REFERENCES = ("41", "42", "43", "44")
PREDICATES = ("WORKS_ON", "LIVES_IN", "DEPENDS_ON")
WORDS = (
    "the gateway renews its certificate every ninety days",
    "Anna plans the migration of invoices INV-77123",
    "серверы упали после обновления шлюза",
    "who restarts the balancer on Friday?",
    "Atlas depends on the north data centre",
    "pasta is boiled for nine minutes",
)
PARAGRAPH = "The gateway of payments keeps its certificates in the vault and renews them without any restart. "

PACK = DomainPack(pack="homes", version=1, relations=[PackRelation(relation="LIVES_IN", cardinality=CARDINALITY_ONE)])
"""Of which predicate facts contradict each other."""


@dataclass(frozen=True)
class Said:
    """An observation, and whether the outsider may not see it."""

    observation: Observation
    is_hidden: bool


@dataclass(frozen=True)
class World:
    """What was said, in order of arrival."""

    said: tuple[Said, ...]

    def open_part(self) -> World:
        """The same, as if nothing hidden had ever been said."""
        return World(tuple(each for each in self.said if not each.is_hidden))

    def fact_ids(self) -> list[str]:
        """All facts that are asserted, hidden ones too."""
        found = (
            fact_id(assertion)
            for each in self.said
            for assertion in each.observation.assertions
            if assertion.WhichOneof("assertion") == "fact"
        )
        return list(dict.fromkeys(found))


def random_world(chance: Random, *, said: int = 36) -> World:
    """About two fifths of it are hidden."""
    maker = _Maker(chance)
    return World(tuple(maker.said(number, is_hidden=chance.random() < 0.4) for number in range(said)))


class _Maker:
    """Makes observations, and remembers which facts it made."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._facts: dict[bool, list[str]] = {False: [], True: []}

    def said(self, number: int, *, is_hidden: bool) -> Said:
        pick = self._chance.choice
        keys = HIDDEN + OPEN if is_hidden else OPEN
        made = observation(
            f"{number}",
            *(self._assertion(is_hidden) for _ in range(self._chance.randint(0, 3))),
            minutes=number // 2,
            system=pick(["chat", "jira"]),
            scopes=pick(HIDDEN_LABELS if is_hidden else OPEN_LABELS),
            content=pick(WORDS) if self._chance.random() < 0.6 else "",
            **({"actor": typed(pick([key for key in keys if ":" in key]))} if self._chance.random() < 0.6 else {}),
            **({"subject": typed(pick([key for key in keys if ":" in key]))} if self._chance.random() < 0.4 else {}),
            **({"trace_id": "trace-1"} if self._chance.random() < 0.2 else {}),
        )
        made.source.stream = pick(["general", "general", "other"])
        return Said(made, is_hidden)

    def _assertion(self, is_hidden: bool) -> Assertion:
        own = HIDDEN if is_hidden else OPEN
        anything = HIDDEN + OPEN if is_hidden else OPEN
        pick = self._chance.choice
        match pick(["entity", "entity", "fact", "fact", "fact", "link", "claim", "text", "record", "episode", "end"]):
            case "entity":
                return entity(
                    pick(own),
                    title=pick(TITLES),
                    **(
                        {"source_id": pick(REFERENCES[2:] if is_hidden else REFERENCES[:2]), "kind": "issue"}
                        if self._chance.random() < 0.4
                        else {}
                    ),
                    **({"url": "https://example.org/1"} if self._chance.random() < 0.2 else {}),
                )
            case "fact":
                return self._fact(is_hidden, pick(anything), anything)
            case "link":
                return link(pick(anything), "RELATED_TO" if is_hidden else "LINKS_TO", pick(anything), weight=0.5)
            case "claim":
                return claim(pick(own), "MENTIONS", "issue", pick(REFERENCES))
            case "text":
                if self._chance.random() < 0.5:
                    return article(pick(own), f"# {pick(TITLES)}\n\n{PARAGRAPH * 4}\n\n{pick(WORDS)}")
                return document(pick(own), PARAGRAPH * 3, pick(WORDS))
            case "record":
                return self._record(is_hidden, pick(OPEN))
            case "episode":
                about = [EntityRef(key=pick(anything))]
                return Assertion(episode=Episode(summary=pick(WORDS), action="saw", related=about))
        ended = self._facts[is_hidden]
        return Assertion(retraction=FactRetraction(fact_id=pick(ended))) if ended else entity(pick(own))

    def _fact(self, is_hidden: bool, subject: str, anything: Sequence[str]) -> Assertion:
        # A hidden one is never an open one said again.
        predicate = self._chance.choice(PREDICATES)
        objects = [f"hidden {word}" for word in WORDS] + list(HIDDEN) if is_hidden else [*WORDS, *OPEN]
        if is_hidden and subject in HIDDEN:
            objects += OPEN
        made = fact(subject, predicate, self._chance.choice(objects), confidence=self._chance.choice([0.4, 0.9]))
        older = self._facts[is_hidden]
        if older and self._chance.random() < 0.2 and older[-1] != fact_id(made):
            made.fact.supersedes.append(older[-1])
        self._facts[is_hidden].append(fact_id(made))
        return made

    def _record(self, is_hidden: bool, about: str) -> Assertion:
        text = self._chance.choice(WORDS)
        mentions = [EntityRef(key=about)]
        if self._chance.random() < 0.5:
            rule = Rule(text=text, scope=RuleScope.RULE_SCOPE_GLOBAL)
            return Assertion(record=MemoryRecord(summary=text, rule=rule, entities=mentions))
        preference = Preference(holder=EntityRef(key=about), topic="tone", value=text)
        return Assertion(record=MemoryRecord(summary=text, preference=preference, entities=mentions))
