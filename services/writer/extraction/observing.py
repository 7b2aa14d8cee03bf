"""How what was derived becomes an observation that can be stored."""

from services.writer.commands.propose_facts import Observe
from services.writer.extraction.messages import derived_from_stored
from services.writer.extraction.proposals import Derived
from services.writer.extraction.store import StoredSource
from services.writer.messages import prepare
from services.writer.projection.packs import Packs
from services.writer.recording import PreparedObservation

_SUBJECT = "palimpsest"


def observed(namespace: str) -> Observe:
    """Prepares observations of a namespace."""

    def observe(source: StoredSource, derived: Derived, packs: Packs) -> PreparedObservation:
        return prepare(namespace, derived_from_stored(source, derived), "facts", _SUBJECT, packs)

    return observe
