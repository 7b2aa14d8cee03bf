"""How what was derived becomes an observation that can be stored."""

from services.writer.commands.propose_facts import Observe
from services.writer.extraction.messages import derived_from_stored
from services.writer.extraction.proposals import Derived
from services.writer.extraction.store import StoredSource
from services.writer.messages import prepare
from services.writer.projection.packs import Packs
from services.writer.recording import PreparedObservation
from shared.authentication.caller import Caller, acting_as

# An extractor holds no role, whoever wrote what it reads: what it finds changes nothing that roles guard (AC-5).
_EXTRACTOR = Caller("palimpsest")


def observed(namespace: str) -> Observe:
    """Prepares observations of a namespace."""

    def observe(source: StoredSource, derived: Derived, packs: Packs) -> PreparedObservation:
        with acting_as(_EXTRACTOR):
            return prepare(namespace, derived_from_stored(source, derived), "facts", _EXTRACTOR.subject, packs)

    return observe
