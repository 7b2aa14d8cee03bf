"""The keys that references name."""

from palimpsest import ids
from palimpsest.canonical import nfc

from services.writer.projection.messages import EntityRef
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import EntityWrite, Stamp
from shared.domain_packs.key_forms import default_kind

# Unicode NFC can lengthen a text; a longer key would not fit a page of an index.
MAX_KEY_BYTES = 1_000


def key_of(reference: EntityRef, field: str) -> str:
    """Returns the key that a reference names, as it is given; `Context.key_of` knows packs too. Raises `Refused`."""
    which = reference.WhichOneof("reference")
    named = bool(reference.key) if which == "key" else bool(reference.typed.type and reference.typed.id)
    if which is None or not named:
        raise Refused(field, "must name an entity")
    key = ids.entity_key(reference)
    check_key_length(key, field)
    return key


def check_key_length(key: str, field: str) -> None:
    """Raises `Refused` for a key that is too long to be kept."""
    if len(key.encode()) > MAX_KEY_BYTES:
        raise Refused(field, f"must have a key of at most {MAX_KEY_BYTES} bytes in Unicode NFC")


def named(key: str, stamp: Stamp) -> EntityWrite:
    """Names an entity without saying anything of it: a placeholder, unless somebody describes it (EN-2)."""
    return EntityWrite(key=key, stamp=stamp, default_kind=default_kind(key))


def normal_id(text: str) -> str:
    """Returns an id of a source in the form in which ids are compared."""
    return nfc(text)
