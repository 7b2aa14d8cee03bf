"""The test vectors of the contract's comments, run against `palimpsest.ids`. A program too: it needs the client alone.

usage: python id_vectors.py
"""

import unicodedata

from google.protobuf.timestamp_pb2 import Timestamp
from palimpsest.ids import content_hash, fact_id, observation_id
from palimpsest.v1.fact_pb2 import FactObject, Literal
from palimpsest.v1.observation_pb2 import Observation
from palimpsest.v1.reference_pb2 import EntityRef, SourceIdentity


def _time(text: str) -> Timestamp:
    time = Timestamp()
    time.FromJsonString(text)
    return time


def _observation(namespace: str, system: str, stream: str, external_id: str, revision: str) -> str:
    source = SourceIdentity(system=system, stream=stream, external_id=external_id, revision=revision)
    return observation_id(namespace, source)


def _note() -> Observation:
    return Observation(
        source=SourceIdentity(system="chat"),
        kind="note",
        occurred_at=_time("2026-03-01T00:30:00+03:00"),
        content="привет",
    )


def _fact(value: FactObject, start: str | None = None) -> str:
    predicate = "WORKS_ON" if value.HasField("entity") else "AGE"
    return fact_id("demo", "person:alice", predicate, value, None if start is None else _time(start))


def vectors() -> list[tuple[str, str]]:
    """What is computed, and what stands in the comments."""
    alpha = FactObject(entity=EntityRef(key="project:alpha"))
    budget = FactObject(literal=Literal(decimal="15e-1"))
    yo = {form: unicodedata.normalize(form, "Ё-1") for form in ("NFC", "NFD")}
    note_hash = content_hash(_note())
    return [
        (_observation("demo", "git", "palimpsest", "abc", ""), "obs-a7ef7ba31d51697a25270977"),
        (_observation("demo", "git", "palimpsesta", "bc", ""), "obs-89fe6ce78064a91989bd81e2"),
        (_observation("демо", "jira", "", yo["NFC"], "2"), "obs-ea7debceb19620a7ba40e044"),
        (_observation("демо", "jira", "", yo["NFD"], "2"), "obs-ea7debceb19620a7ba40e044"),
        (note_hash, "41eaf0ab2fbe43b72d9aebdcba06563d822c84ef3fdd819482ab2b5188c38e9c"),
        (observation_id("demo", _note().source, content_hash=note_hash), "obs-8bc3a7cb836186b6867959d3"),
        (_fact(alpha, "2026-08-01T00:00:00Z"), "fact-a5f4d949926b82dc415e9343"),
        (_fact(alpha), "fact-5d2a873c53a413714a13f84d"),
        (_fact(FactObject(literal=Literal(integer=42))), "fact-0df6946e0cd6c3d477e8ca7d"),
        (_fact(FactObject(literal=Literal(text="42"))), "fact-af5d9d5f96a1661c7a237d60"),
        (fact_id("demo", "проект:альфа", "БЮДЖЕТ", budget), "fact-da5cdecd6d8acf64f848f91d"),
    ]


if __name__ == "__main__":
    for computed, promised in vectors():
        if computed != promised:
            raise SystemExit(f"{computed} is computed where {promised} is promised")
    print(f"{len(vectors())} vectors hold")
