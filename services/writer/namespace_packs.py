"""The packs that act in namespaces, remembered between transactions; each transaction checks that they still do."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from services.writer.namespace_store import NamespaceStore
from services.writer.projection.packs import FREE, Packs
from shared.database import Database

_REMEMBERED_NAMESPACES = 1_000


class NamespacePacks:
    """What acts in the namespaces that were written lately."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[str, Packs] = OrderedDict()

    async def acting_in(self, namespaces: Iterable[str], *, timeout_s: float | None = None) -> Mapping[str, Packs]:
        """What acts in each namespace, as far as is known here. It may have changed: compare under the lock."""
        found = {name: self._known[name] for name in namespaces if name in self._known}
        missing = sorted(set(namespaces) - found.keys())
        if missing:
            async with self._database.connection(timeout_s) as connection:
                store = NamespaceStore(connection)
                found |= {name: await store.acting_packs(name) for name in missing}
        for name in found:
            self._known[name] = found[name]
            self._known.move_to_end(name)
        while len(self._known) > _REMEMBERED_NAMESPACES:
            self._known.popitem(last=False)
        return found

    def last_known(self, namespace: str) -> Packs:
        """What acted in a namespace when it was last written; nothing where nobody knows."""
        return self._known.get(namespace, FREE)

    def forget(self, namespaces: Iterable[str]) -> None:
        """Lets namespaces be read anew."""
        for name in namespaces:
            self._known.pop(name, None)
