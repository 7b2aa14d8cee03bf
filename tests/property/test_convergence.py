"""OB-7: the same observations end in the same state, whatever their order, number of deliveries, grouping and writers.

`PALIMPSEST_CONVERGENCE_EXAMPLES` gives the number of examples: a few for each change, many for a night.
"""

import json
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from palimpsest.v1.observation_pb2 import Observation

from services.writer.projection.supersession import CORRECTED, OPEN
from services.writer.recording import REDACTED
from tests.integration.writing import claim, entity, link, observation
from tests.property.deliveries import Place
from tests.property.streams import FACT_IDS, FACTS, PACK, Delivery, arrangements, corrects, observations

EXAMPLES = int(os.environ.get("PALIMPSEST_CONVERGENCE_EXAMPLES", "80"))
WRITERS = 8


@dataclass(frozen=True)
class Found:
    """What was said, and what of it was redacted in the end, by place."""

    said: list[Observation]
    redacted: tuple[int, ...] = ()


# Found by the properties, or thought of while they were written: as small as they came out.
FOUND = {
    "a claim leaves the target of a plain link of the same observation": Found(
        [
            observation("0", link("A-42", "R", "note", weight=0.25), claim("A-42", "R", "issue", "42"), minutes=0),
            observation("1", entity("note", kind="issue", source_id="42"), minutes=1),
            observation("2", entity("A-0", kind="issue", source_id="42"), minutes=2),
        ]
    ),
    "redaction left an entity described that others only name": Found(
        [observation("0", entity("note")), observation("1", link("A-42", "R", "note"))], redacted=(0,)
    ),
    "a correction back to what was corrected was refused as a cycle": Found(
        [
            observation("0", FACTS[2]),
            observation("1", corrects(FACTS[2], FACTS[3]), minutes=1),
            observation("2", corrects(FACTS[3], FACTS[2]), minutes=2),
        ]
    ),
}


@pytest.fixture
async def place(dsn: str) -> AsyncIterator[Place]:
    """A database with writers."""
    place = Place.open(dsn, WRITERS)
    await place.enable(PACK)
    yield place
    await place.close()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(observations(), st.data())
async def test_any_delivery_ends_in_one_state(place: Place, said: list[Observation], data: st.DataObject) -> None:
    """OB-7, OB-3, FA-8: any order, duplication and grouping, by 1 to 8 writers at once, killed and resumed anywhere;
    some observations are redacted, early or late, and delivered again."""
    redacted = data.draw(st.lists(st.integers(0, len(said) - 1), unique=True, max_size=2))
    arrangement = data.draw(arrangements(len(said), redacted=redacted, most_writers=WRITERS))
    await place.empty()
    expected, expected_digest = await place.one_by_one(said, redacted), await place.digest()
    await place.empty()
    found = await place.arranged(said, arrangement, redacted)
    for table, rows in expected.items():
        assert found[table] == rows, table
    assert await place.digest() == expected_digest


@settings(max_examples=EXAMPLES // 2 + 1, deadline=None, suppress_health_check=list(HealthCheck))
@given(observations(), st.data())
async def test_what_is_redacted_is_as_if_never_said(place: Place, said: list[Observation], data: st.DataObject) -> None:
    """FA-8, AU-2: beside the bare observations, and the bare facts that are kept for the audit, nothing tells."""
    redacted = data.draw(st.sets(st.integers(0, len(said) - 1), min_size=1, max_size=3))
    await place.empty()
    await as_if_never_said(place, said, sorted(redacted))


async def as_if_never_said(place: Place, said: list[Observation], redacted: Sequence[int]) -> None:
    """Compares what redaction leaves with what the others alone come to."""
    expected = await place.one_by_one([each for index, each in enumerate(said) if index not in redacted], ())
    await place.empty()
    found = await place.one_by_one(said, redacted)
    bare = [row for row in found["observations"] if json.loads(row)["status"] == REDACTED]
    lost = [row for row in found["facts"] if json.loads(row)["evidence_lost"]]
    assert len(bare) == len(redacted)
    for table, rows in expected.items():
        assert [row for row in found[table] if row not in bare and row not in lost] == rows, table


@pytest.mark.parametrize("name", FOUND)
async def test_streams_that_once_diverged(place: Place, name: str) -> None:
    """OB-7: every order of them ends in one state, with one digest."""
    said, redacted = FOUND[name].said, FOUND[name].redacted
    expected, digest = await place.one_by_one(said, redacted), await place.digest()
    for order in permutations(range(len(said))):
        await place.empty()
        assert await place.arranged(said, [[Delivery((each,)) for each in order]], redacted) == expected, order
        assert await place.digest() == digest


@pytest.mark.parametrize("name", [name for name, found in FOUND.items() if found.redacted])
async def test_redactions_that_once_left_something(place: Place, name: str) -> None:
    """FA-8, AU-2: of what was said, nothing but the bare observation is left."""
    await as_if_never_said(place, FOUND[name].said, FOUND[name].redacted)


async def test_a_correction_back_is_not_refused(place: Place) -> None:
    """FA-12, OB-7: in whichever order, the fact that was corrected first is the one that holds."""
    said = FOUND["a correction back to what was corrected was refused as a cycle"].said
    for order in permutations(range(len(said))):
        await place.empty()
        found = await place.arranged(said, [[Delivery((each,)) for each in order]], ())
        closures = {row["fact_id"]: row["closure"] for row in map(json.loads, found["facts"])}
        assert closures == {FACT_IDS[2]: OPEN, FACT_IDS[3]: CORRECTED}
