"""Streams of observations that meet: few keys, facts and moments, so that every kind of statement has an opposite."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from palimpsest.v1 import namespace_pb2
from palimpsest.v1.fact_pb2 import FactCorrection, FactRetraction
from palimpsest.v1.namespace_pb2 import DomainPack, PackRelation
from palimpsest.v1.observation_pb2 import Assertion, Observation
from palimpsest.v1.record_pb2 import Episode, MemoryRecord, Preference, Rule, RuleScope
from palimpsest.v1.reference_pb2 import EntityRef

from tests.integration.writing import article, at, claim, document, entity, fact, fact_id, link, observation, typed

# What acts in the namespace: one predicate whose facts form timelines.
PACK = DomainPack(
    pack="lines",
    version=1,
    relations=[
        PackRelation(
            relation="LIVES_IN",
            cardinality=namespace_pb2.CARDINALITY_ONE,
            on_conflict=namespace_pb2.CONFLICT_POLICY_SUPERSEDE,
        )
    ],
)
KEYS = ("person:a", "person:b", "X-42", "A-42", "note")
# Each line has starts that are unknown, equal and different; some facts are on none.
FACTS = (
    fact("person:a", "AT", "city:x"),
    fact("person:b", "SAYS", "tea", valid_from=at(2)),
    fact("person:a", "LIVES_IN", "city:x"),
    fact("person:a", "LIVES_IN", "city:y", valid_from=at(1)),
    fact("person:a", "LIVES_IN", "city:z", valid_from=at(1)),
    fact("person:b", "LIVES_IN", "city:x", valid_from=at(2)),
)
FACT_IDS = tuple(map(fact_id, FACTS))
# Moments of which several observations share one.
MINUTES = st.sampled_from([0.0, 1.0, 2.0])
MOMENTS = MINUTES.map(at)
TEXTS = st.sampled_from(["", "чай", "tea\n\nand cake", "# One\n\ntea\n\n# Two\n\ncake"])
SCOPES = st.lists(st.sampled_from(["role:r", "role:s", "project:p"]), unique=True, max_size=2)
WEIGHTS = st.sampled_from([0.25, 0.5, 1.0])


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def _entity(key: str, fields: dict[str, Any]) -> Assertion:
    return entity(key, **fields)


def _fact(index: int, fields: dict[str, Any], older: list[str]) -> Assertion:
    made = Assertion()
    made.CopyFrom(FACTS[index])
    made.fact.MergeFrom(Assertion(fact=fields).fact)
    made.fact.supersedes.extend(older)
    return made


def _retraction(target: str, fields: dict[str, Any]) -> Assertion:
    return Assertion(retraction=FactRetraction(fact_id=target, **fields))


def _correction(wrong: int, right: int | None) -> Assertion:
    if right is not None:
        return corrects(FACTS[wrong], FACTS[right])
    return Assertion(correction=FactCorrection(fact_id=FACT_IDS[wrong], reason="wrong"))


def corrects(wrong: Assertion, right: Assertion) -> Assertion:
    """Says that one fact was wrong and another is right."""
    return Assertion(correction=FactCorrection(fact_id=fact_id(wrong), replacement=right.fact, reason="wrong"))


def _episode(key: str, summary: str, related: list[str]) -> Assertion:
    return Assertion(
        episode=Episode(
            entity=EntityRef(key=key), summary=summary, action="saw", related=[EntityRef(key=one) for one in related]
        )
    )


def _preference(key: str, value: str, fields: dict[str, Any]) -> Assertion:
    body = Preference(holder=EntityRef(key="person:a"), topic="drink", value=value)
    return Assertion(record=MemoryRecord(entity=EntityRef(key=key), summary=value, preference=body, **fields))


def _rule(key: str, text: str) -> Assertion:
    body = Rule(text=text, scope=RuleScope.RULE_SCOPE_GLOBAL)
    return Assertion(record=MemoryRecord(entity=EntityRef(key=key), summary=text, rule=body))


_ENTITY_FIELDS = _some(
    kind=st.sampled_from(["issue", "page"]),
    title=st.sampled_from(["", "Alice", "Алиса"]),
    aliases=st.just(["al"]),
    source_id=st.sampled_from(["42", "7"]),
    status=st.sampled_from([1, 2, 5]),
    importance=st.integers(1, 4),
    attributes=st.sampled_from(['{"a": 1}', '{"a": null, "b": 9007199254740993}']),
    scopes=SCOPES,
)
_FACT_FIELDS = _some(
    valid_to=MOMENTS, confidence=WEIGHTS, evidence=st.integers(1, 4), importance=st.integers(1, 4), scopes=SCOPES
)
_keys = st.sampled_from(KEYS)
_fact_ids = st.sampled_from(FACT_IDS)
_indices = st.integers(0, len(FACTS) - 1)
_relations = st.sampled_from(["LINKS_TO", "MENTIONS"])

ENTITIES = st.builds(_entity, _keys, _ENTITY_FIELDS)
ASSERTED_FACTS = st.builds(_fact, _indices, _FACT_FIELDS, st.lists(_fact_ids, unique=True, max_size=2))
CHANGES = st.one_of(
    st.builds(_retraction, _fact_ids, _some(valid_to=MOMENTS)),
    st.builds(_correction, _indices, st.none() | _indices),
)
LINKS = st.one_of(
    st.builds(link, _keys, _relations, _keys, weight=WEIGHTS),
    st.builds(
        claim,
        _keys,
        _relations,
        st.sampled_from(["issue", "page"]),
        st.sampled_from(["42", "7"]),
        st.sampled_from(["", "test", "jira"]),
        weight=WEIGHTS,
    ),
)
DOCUMENTS = st.one_of(
    st.builds(article, _keys, TEXTS, title=st.sampled_from(["", "T"])),
    st.builds(lambda key, chunks: document(key, *chunks), _keys, st.lists(TEXTS.filter(bool), min_size=1, max_size=3)),
)
RECORDS = st.one_of(
    st.builds(_episode, _keys, st.sampled_from(["saw tea", "saw cake"]), st.lists(_keys, max_size=2)),
    st.builds(_preference, _keys, st.sampled_from(["tea", "coffee"]), _some(status=st.sampled_from([1, 2, 5]))),
    st.builds(_rule, _keys, st.sampled_from(["be kind", "be brief"])),
)
# Facts and claims are where the order of arrival is hardest to forget.
ASSERTIONS = st.one_of(ENTITIES, ASSERTED_FACTS, ASSERTED_FACTS, CHANGES, LINKS, LINKS, DOCUMENTS, RECORDS)


@st.composite
def observations(draw: st.DrawFn, *, most: int = 7) -> list[Observation]:
    """Different observations, some without assertions, some that only name."""
    made = []
    for number in range(draw(st.integers(2, most))):
        fields = draw(
            _some(
                content=TEXTS,
                actor=st.just(typed("person:a")),
                subject=st.just(typed("issue:42")),
                trace_id=st.just("t1"),
                scopes=SCOPES,
            )
        )
        system = draw(st.sampled_from(["test", "jira"]))
        said = draw(st.lists(ASSERTIONS, max_size=3))
        made.append(observation(str(number), *said, minutes=draw(MINUTES), system=system, **fields))
    return made


@dataclass(frozen=True)
class Delivery:
    """A group of observations that a writer sends together, and whether it is killed at a statement, to send it anew:
    at the first, the third, …, after the commit but before the answer (0), or not at all. Then some that are there are
    redacted."""

    places: tuple[int, ...]
    killed_at: int | None = None
    redacted: tuple[int, ...] = ()


@st.composite
def arrangements(draw: st.DrawFn, count: int, *, redacted: list[int], most_writers: int = 8) -> list[list[Delivery]]:
    """What each of several writers delivers in turn: all places below `count`, in any order and grouping, some of them
    many times, by one writer or by several at once. The redacted ones are redacted now and then."""
    again = draw(st.lists(st.integers(0, count - 1), max_size=count))
    order = draw(st.permutations([*range(count), *again]))
    writers: list[list[Delivery]] = [[] for _ in range(draw(st.integers(1, most_writers)))]
    while order:
        size = draw(st.integers(1, len(order)))
        group, order = tuple(order[:size]), order[size:]
        killed_at = draw(st.none() | st.integers(0, 30))
        now = tuple(draw(st.lists(st.sampled_from(redacted), max_size=2, unique=True))) if redacted else ()
        draw(st.sampled_from(writers)).append(Delivery(group, killed_at, now))
    return writers
