"""The deterministic ids of observations and facts, computable by anyone before anything is sent (OB-2, FA-2)."""

import hashlib
from decimal import Decimal

from google.protobuf.timestamp_pb2 import Timestamp

from palimpsest.canonical import canonical_json, canonical_message, nfc, pack, timestamp_us
from palimpsest.v1 import fact_pb2, observation_pb2, reference_pb2

_ID_DIGITS = 24
_VERSION = "1"
# What a retry may change without being another content.
_NOT_CONTENT = ("source", "trace_id")


def content_hash(observation: observation_pb2.Observation) -> str:
    """Returns the SHA-256, in hex, over the canonical form of an observation's content.

    Raises:
        ValueError: a JSON field does not hold JSON.
    """
    return hashlib.sha256(canonical_message(observation, leave_out=_NOT_CONTENT)).hexdigest()


def observation_id(namespace: str, source: reference_pb2.SourceIdentity, *, content_hash: str | None = None) -> str:
    """Returns `obs-` and 24 hex digits. `content_hash` is needed, and used, only where the source has no external id.

    Raises:
        ValueError: neither an external id nor a content hash is given.
    """
    if source.external_id:
        identity: tuple[str, ...] = ("source", source.system, source.stream, source.external_id, source.revision)
    elif content_hash is not None:
        identity = ("content", source.system, source.stream, content_hash)
    else:
        raise ValueError("a source without external_id needs the content_hash")
    return _id("obs", "palimpsest.observation", namespace, *identity)


def entity_key(reference: reference_pb2.EntityRef) -> str:
    """Returns the natural key that a reference names: the key itself, or `type:id`, in NFC."""
    if reference.WhichOneof("reference") == "typed":
        return typed_key(reference.typed)
    return nfc(reference.key)


def typed_key(typed: reference_pb2.TypedId) -> str:
    """Returns the natural key `type:id`, in NFC."""
    return nfc(f"{typed.type}:{typed.id}")


def fact_id(
    namespace: str, subject_key: str, predicate: str, value: fact_pb2.FactObject, valid_from: Timestamp | None = None
) -> str:
    """Returns `fact-` and 24 hex digits. `valid_from` is None where the fact's start is unknown."""
    kind, text = object_identity(value)
    start = "" if valid_from is None else str(timestamp_us(valid_from))
    return _id("fact", "palimpsest.fact", namespace, subject_key, predicate, kind, text, start)


def object_identity(value: fact_pb2.FactObject) -> tuple[str, str]:
    """Returns the type of a fact's object and its key or canonical text, as they enter the id.

    Raises:
        ValueError: the object is not set, or its JSON is not JSON.
    """
    if value.WhichOneof("object") == "entity":
        return "entity", entity_key(value.entity)
    literal = value.literal
    match literal.WhichOneof("value"):
        case "text":
            return "text", nfc(literal.text)
        case "integer":
            return "integer", str(literal.integer)
        case "decimal":
            return "decimal", canonical_decimal(literal.decimal)
        case "boolean":
            return "boolean", "true" if literal.boolean else "false"
        case "timestamp":
            return "timestamp", str(timestamp_us(literal.timestamp))
        case "json":
            return "json", canonical_json(literal.json).decode()
    raise ValueError("the object of the fact is not set")


def canonical_decimal(text: str) -> str:
    """Returns the shortest equal decimal without an exponent: `1.50` and `15e-1` as `1.5`, `-0` as `0`.

    Raises:
        ValueError: the text is not a decimal number.
    """
    number = Decimal(text) if _is_decimal(text) else None
    if number is None:
        raise ValueError("not a decimal number")
    plain = format(number, "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain.strip("-") == "0" else plain


def _is_decimal(text: str) -> bool:
    return bool(text) and not set(text) - set("0123456789+-.eE") and any(digit.isdigit() for digit in text)


def _id(prefix: str, *parts: str) -> str:
    digest = hashlib.sha256(pack(parts[0], _VERSION, *parts[1:])).hexdigest()
    return f"{prefix}-{digest[:_ID_DIGITS]}"
