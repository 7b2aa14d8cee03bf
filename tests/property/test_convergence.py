"""OB-7: the same observations end in the same state, whatever their order, number of deliveries, grouping and writers.

`PALIMPSEST_CONVERGENCE_EXAMPLES` gives the number of examples: a few for each change, many for a night.
"""

import json
import os
from collections.abc import AsyncIterator
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from palimpsest.v1.observation_pb2 import Observation

from services.writer.recording import REDACTED
from tests.integration.writing import claim, entity, link, observation
from tests.property.deliveries import Place
from tests.property.streams import PACK, Delivery, arrangements, observations

EXAMPLES = int(os.environ.get("PALIMPSEST_CONVERGENCE_EXAMPLES", "150"))
WRITERS = 8

# Found by the property, or thought of while it was written: each in the given order and turned round.
FOUND = {
    "a claim leaves the target of a plain link of the same observation": [
        observation("0", link("A-42", "R", "note", weight=0.25), claim("A-42", "R", "issue", "42"), minutes=0),
        observation("1", entity("note", kind="issue", source_id="42"), minutes=1),
        observation("2", entity("A-0", kind="issue", source_id="42"), minutes=2),
    ],
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


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(observations(), st.data())
async def test_what_is_redacted_is_as_if_never_said(place: Place, said: list[Observation], data: st.DataObject) -> None:
    """FA-8, AU-2: beside the bare observations, and the bare facts that are kept for the audit, nothing tells."""
    redacted = data.draw(st.sets(st.integers(0, len(said) - 1), min_size=1, max_size=3))
    await place.empty()
    expected = await place.one_by_one([each for index, each in enumerate(said) if index not in redacted], ())
    await place.empty()
    found = await place.one_by_one(said, sorted(redacted))
    bare = [row for row in found["observations"] if json.loads(row)["status"] == REDACTED]
    lost = [row for row in found["facts"] if json.loads(row)["evidence_lost"]]
    assert len(bare) == len(redacted)
    for table, rows in expected.items():
        assert [row for row in found[table] if row not in bare and row not in lost] == rows, table


@pytest.mark.parametrize("name", FOUND)
async def test_streams_that_once_diverged(place: Place, name: str) -> None:
    """OB-7: every order of them ends in one state."""
    said = FOUND[name]
    expected = await place.one_by_one(said, ())
    for order in permutations(range(len(said))):
        await place.empty()
        assert await place.arranged(said, [[Delivery((each,)) for each in order]], ()) == expected, order
