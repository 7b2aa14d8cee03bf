"""Which space a vector belongs to."""

import hashlib
from dataclasses import dataclass, fields

_ID_HEX_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What decides a vector's space. Two vectors may be compared only if their fingerprints' ids are equal."""

    model: str
    revision: str
    query_prefix: str
    passage_prefix: str
    pooling: str
    dimension: int
    normalized: bool

    @property
    def id(self) -> str:
        """`fp-` and the first 24 hex digits of the SHA-256 over the canonical form."""
        return "fp-" + hashlib.sha256(self.canonical_form()).hexdigest()[:_ID_HEX_DIGITS]

    def canonical_form(self) -> bytes:
        """Returns every field as UTF-8 behind its length in 4 bytes, so that no two fingerprints share a form."""
        values = [_as_text(getattr(self, field.name)).encode() for field in fields(self)]
        return b"".join(len(value).to_bytes(4, "big") + value for value in values)


def _as_text(value: str | int | bool) -> str:
    return value if isinstance(value, str) else str(int(value))
