"""Observations of a call, checked and projected before their transaction, while other calls go on."""

import asyncio
from collections.abc import Callable, Sequence

from services.writer.messages import prepare
from services.writer.projection.messages import Observation
from services.writer.projection.packs import FREE, Packs
from services.writer.recording import Item, PreparedObservation
from shared.errors import PalimpsestError, invalid
from shared.validation import violations

# What takes less than a change of threads or little more: about a millisecond.
_QUICKLY_PREPARED_BYTES = 4_096
# So many short ones in a row: a batch that comes meanwhile waits for no more of them.
_ITEMS_A_TURN = 100
# How long the loop prepares without a look at what has arrived.
_PAUSE_S = 0.001


class Preparation:
    """Prepares short observations in the event loop, one after the other, and long ones in a thread: texts of megabytes
    take seconds to cut.

    A thread runs Python no sooner than the loop does, and takes it the interpreter for milliseconds at a time, which
    each statement of the transactions under way would wait for. Batches take turns, so that the first is written while
    the second is prepared.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def one(
        self, namespace: str, observation: Observation, path: str, subject: str, packs: Packs = FREE
    ) -> PreparedObservation:
        """An observation, checked and prepared. Raises InvalidField, InvalidText."""
        item = await _item(namespace, observation, path, subject, packs)
        if isinstance(item, PalimpsestError):
            raise item
        return item

    async def all(
        self,
        namespace: str,
        observations: Sequence[Observation],
        path: Callable[[int], str],
        subject: str,
        packs: Packs = FREE,
    ) -> list[Item]:
        """Observations of a batch, each prepared, or the error that it alone would have ended its call with (OB-6)."""
        items: list[Item] = []
        clock = asyncio.get_running_loop().time
        for start in range(0, len(observations), _ITEMS_A_TURN):
            async with self._turn:
                pause = clock() + _PAUSE_S
                for index, one in enumerate(observations[start : start + _ITEMS_A_TURN], start):
                    items.append(await _item(namespace, one, path(index), subject, packs))
                    if clock() > pause:
                        # What has arrived for other calls is taken care of.
                        await asyncio.sleep(0)
                        pause = clock() + _PAUSE_S
        return items


async def _item(namespace: str, observation: Observation, path: str, subject: str, packs: Packs) -> Item:
    if observation.ByteSize() <= _QUICKLY_PREPARED_BYTES:
        return _prepared(namespace, observation, path, subject, packs)
    return await asyncio.to_thread(_prepared, namespace, observation, path, subject, packs)


def _prepared(namespace: str, observation: Observation, path: str, subject: str, packs: Packs) -> Item:
    found = violations(observation, path)
    try:
        return invalid(found) if found else prepare(namespace, observation, path, subject, packs)
    except PalimpsestError as error:
        return error
