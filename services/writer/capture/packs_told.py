"""Packs that were told lately, read once and remembered in the form in which they are looked for (CP-2)."""

from collections import OrderedDict
from collections.abc import Callable, Collection

from services.writer.capture.store import CaptureStore
from services.writer.capture.told_packs import ToldPack, ToldPacks
from services.writer.mark_store import Operator
from shared.database import Connection

_LATELY = 64
_REMEMBERED = 256


class PacksTold:
    """Remembers packs of all namespaces, the latest ones. `rendered` reads the text out of a stored pack."""

    def __init__(self, rendered: Callable[[bytes], str]) -> None:
        self._rendered = rendered
        self._known: OrderedDict[tuple[str, str], ToldPack] = OrderedDict()

    async def for_caller(
        self, connection: Connection, namespace: str, caller: Operator, named: Collection[str]
    ) -> ToldPacks:
        """What the memory told lately, and packs that are named, as far as the caller might have been told them: what
        is stripped shows nobody what others were told."""
        store = CaptureStore(connection, namespace)
        ids = await store.lately_told(caller.labels, sees_all=caller.sees_all, most=_LATELY, named=named)
        found = {each: self._known[namespace, each] for each in ids if (namespace, each) in self._known}
        for pack_id, pack in (await store.told_packs([each for each in ids if each not in found])).items():
            found[pack_id] = ToldPack.of(self._rendered(pack))
        for pack_id, told in found.items():
            self._known[namespace, pack_id] = told
            self._known.move_to_end((namespace, pack_id))
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return ToldPacks(list(found.values()))
