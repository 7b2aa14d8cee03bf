"""RE-1: words of what was written reach their index beside the writes."""

from __future__ import annotations

from services.writer.word_index_loop import ENOUGH
from tests.conftest import execute
from tests.integration.changing_models import eventually
from tests.integration.writing import Writer, observation

WAITING = "SELECT pending_tuples AS words FROM pgstatginindex('passages_by_words')"


async def test_words_are_taken_in_beside_the_writes(writer: Writer) -> None:
    """RE-1: no write takes in what others wrote, as long as somebody else does it in time; a few wait for more."""
    await execute(writer.dsn, "CREATE EXTENSION pgstattuple")
    said = [observation(str(number), content=f"Note {number} on the gateway") for number in range(ENOUGH)]
    await writer.record_all(*said[1:])
    assert (await writer.row(WAITING))["words"] > 0
    await writer.record(said[0])

    async def none_waits() -> bool:
        return not (await writer.row(WAITING))["words"]

    await eventually(none_waits)
