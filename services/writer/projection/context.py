"""What every assertion of an observation has in common."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from palimpsest import ids
from palimpsest.canonical import nfc

from services.writer.projection import json_object
from services.writer.projection.messages import EntityRef, Observation, Provenance, Timestamp, TypedId
from services.writer.projection.packs import FREE, Packs
from services.writer.projection.references import check_key_length, key_of
from services.writer.projection.refusal import Refused
from services.writer.projection.rows import Stamp
from services.writer.projection.strict import check_key
from shared.natural_order import natural_order
from shared.timestamps import to_datetime, to_microseconds

# The observation's own rows come before those of its assertions, which may say more of the same entity.
OF_OBSERVATION = -1


@dataclass(frozen=True, slots=True)
class Context:
    """The observation that an assertion belongs to, less its assertions."""

    namespace: str
    observation_id: str
    occurred_at: datetime
    # The same in microseconds, as stamps have it.
    occurred_us: int
    scopes: tuple[str, ...]
    actor_key: str
    source_system: str
    source_stream: str
    # Where what somebody said stands in its stream, where moments are equal.
    place_in_stream: str
    provenance: bytes
    # Titles and kinds that entity assertions of this observation give, by key: what their texts are shown under.
    titles: Mapping[str, str]
    kinds: Mapping[str, str]
    packs: Packs = FREE

    def key_of(self, reference: EntityRef, field: str) -> str:
        """The key that a reference names, in the form that the packs give it. Raises `Refused`."""
        given = key_of(reference, field)
        key = self.packs.key(given)
        if key != given:
            check_key_length(key, field)
        if self.packs.strict:
            check_key(self.packs, key, self.kind_of(key), field)
        return key

    def typed_key(self, typed: TypedId) -> str:
        """The same for somebody whom the observation itself names."""
        return self.packs.key(ids.typed_key(typed))

    def kind_of(self, key: str) -> str:
        """The kind of an entity as far as this observation and the key tell it; empty where they don't."""
        return self.kinds.get(key) or self.packs.kind_of_key(key)

    def stamp(self, index: int) -> Stamp:
        """The stamp of what the assertion of this index writes."""
        return Stamp(self.occurred_us, self.observation_id, index)

    def labels(self, more: Iterable[str] = ()) -> tuple[str, ...]:
        """The observation's labels and `more`, sorted and without repeats."""
        labels = (*self.scopes, *more)
        return normal_labels(labels) if labels else ()

    def labels_field(self, more: Iterable[str] = ()) -> dict[str, Any]:
        """The labels as a field that is written. None are not written: what somebody hid stays hidden."""
        labels = self.labels(more)
        return {"scopes": labels} if labels else {}


def normal_labels(scopes: Iterable[str]) -> tuple[str, ...]:
    """Returns labels in Unicode NFC, sorted and without repeats."""
    return tuple(sorted({nfc(label) for label in scopes}))


def context_of(namespace: str, observation: Observation, observation_id: str, packs: Packs = FREE) -> Context:
    """Returns what the assertions of an observation share. Raises `ValueError` where `occurred_at` is out of range."""
    titles, kinds = _described(observation, packs)
    occurred_at = to_datetime(observation.occurred_at)
    return Context(
        namespace=namespace,
        observation_id=observation_id,
        occurred_at=occurred_at,
        occurred_us=to_microseconds(occurred_at),
        scopes=normal_labels(observation.scopes),
        actor_key=packs.key(ids.typed_key(observation.actor)) if observation.HasField("actor") else "",
        source_system=observation.source.system,
        source_stream=observation.source.stream,
        place_in_stream=natural_order(observation.source.external_id) if observation.HasField("actor") else "",
        provenance=serialized(observation.provenance),
        titles=titles,
        kinds=kinds,
        packs=packs,
    )


def serialized(provenance: Provenance) -> bytes:
    """Returns a provenance as bytes that depend on nothing but its content."""
    return provenance.SerializeToString(deterministic=True)


def moment(value: Timestamp, field: str) -> datetime:
    """Returns a timestamp as a datetime. Raises `Refused`."""
    try:
        return to_datetime(value)
    except ValueError as error:
        raise Refused(field, str(error)) from error


def attribute_fields(attributes: str, field: str) -> dict[str, str]:
    """Returns each key of a JSON object as a field `attributes.<key>` of its own. Raises `Refused`."""
    return {f"attributes.{key}": value for key, value in object_members(attributes, field).items()}


def object_members(text: str, field: str) -> dict[str, str]:
    """Returns the members of a JSON object; none of an empty text. Raises `Refused`."""
    if not text:
        return {}
    try:
        json_object.check(text)
        return json_object.members(text)
    except ValueError as error:
        raise Refused(field, str(error)) from error


def _described(observation: Observation, packs: Packs) -> tuple[dict[str, str], dict[str, str]]:
    titles: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for assertion in observation.assertions:
        if assertion.WhichOneof("assertion") == "entity":
            key = packs.key(ids.entity_key(assertion.entity.entity))
            if assertion.entity.HasField("title"):
                titles[key] = assertion.entity.title
            if assertion.entity.HasField("kind"):
                kinds[key] = packs.kind(assertion.entity.kind)
    return titles, kinds
