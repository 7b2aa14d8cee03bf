"""AU-2, AU-4: what is purged, or rolled back, is as if it had never been said: beside it tombstones alone tell.

`PALIMPSEST_PURGE_EXAMPLES` gives the number of examples.
"""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from palimpsest.v1.observation_pb2 import Observation

from services.writer.commands.purge import One, purge
from services.writer.commands.rollback_source import RolledBack, rollback_source
from services.writer.documents.servicer import STORED_MESSAGES
from tests.integration.writing import NAMESPACE, observation_id
from tests.property.deliveries import Place
from tests.property.streams import PACK, observations

EXAMPLES = int(os.environ.get("PALIMPSEST_PURGE_EXAMPLES", "12"))


@pytest.fixture
async def place(dsn: str) -> AsyncIterator[Place]:
    """A database with a writer."""
    place = Place.open(dsn, 1)
    await place.enable(PACK)
    yield place
    await place.close()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(observations(), st.data())
async def test_what_is_purged_is_as_if_never_said(place: Place, said: list[Observation], data: st.DataObject) -> None:
    """AU-2, OB-7: one by one, in any order, redacted before or not, beside others that are redacted; and sent again."""
    places = range(len(said))
    purged = data.draw(st.lists(st.sampled_from(places), unique=True, min_size=1, max_size=4), label="purged")
    redacted = data.draw(st.lists(st.sampled_from(places), unique=True, max_size=3), label="redacted")
    rest = [index for index in places if index not in purged]
    await place.empty()
    kept = [rest.index(index) for index in redacted if index in rest]
    expected = await place.one_by_one([said[index] for index in rest], kept)
    digest = await place.digest()
    await place.empty()
    await place.one_by_one(said, redacted)
    for index in purged:
        await purged_one(place, said[index])
    assert await place.state() == expected
    assert await place.digest() == digest
    assert await place.one_by_one(said, ()) == expected


async def purged_one(place: Place, said: Observation) -> None:
    """Purges an observation."""
    await purge(
        place.writers[0],
        STORED_MESSAGES,
        namespace=NAMESPACE,
        selector=One(observation_id(said)),
        reason="",
        by="tests",
        dry_run=False,
        timeout_s=None,
    )


@settings(max_examples=EXAMPLES // 2 + 1, deadline=None, suppress_health_check=list(HealthCheck))
@given(observations(), st.data())
async def test_what_is_rolled_back_is_as_if_never_said(
    place: Place, said: list[Observation], data: st.DataObject
) -> None:
    """AU-4, OB-7: all that came from a moment on, as a set; and the preview says what is then done."""
    begun = data.draw(st.integers(0, len(said) - 1), label="from")
    await place.empty()
    others = [each for each in said[begun:] if each.source.system != "test"]
    expected = await place.one_by_one([*said[:begun], *others], ())
    digest = await place.digest()
    await place.empty()
    await place.one_by_one(said[:begun], ())
    since = datetime.now(UTC)
    await place.one_by_one(said[begun:], ())
    preview, done = [await rolled_back(place, since, dry_run=dry_run) for dry_run in (True, False)]
    assert await place.state() == expected
    assert await place.digest() == digest
    assert (preview.observations, preview.entities, preview.facts, preview.chunks, preview.sample) == (
        done.observations,
        done.entities,
        done.facts,
        done.chunks,
        done.sample,
    )


async def rolled_back(place: Place, since: datetime, *, dry_run: bool) -> RolledBack:
    """Rolls one of the systems that observations come from back."""
    answer, _ = await rollback_source(
        place.writers[0],
        STORED_MESSAGES,
        (NAMESPACE, "test", ""),
        recorded_from=since,
        reason="",
        by="tests",
        dry_run=dry_run,
        timeout_s=None,
    )
    return answer
