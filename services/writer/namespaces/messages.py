"""Between the contract's messages about namespaces and the writer's values."""

import hashlib
import json

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from palimpsest.canonical import canonical_message
from palimpsest.v1.namespace_pb2 import DomainPack, Namespace, NamespaceSettings

from services.writer.namespace_store import Settings
from services.writer.namespaces.settings_checks import tuning_violations
from shared.errors import InvalidField, Violation
from shared.namespace_defaults import KNOWN_TEXT_SEARCH_CONFIGURATIONS, fill_in
from shared.timestamps import from_datetime

_LEAST_RETENTION_S = 3_600


def to_definition(pack: DomainPack) -> tuple[str, str]:
    """A pack as the JSON that is stored, and its hash; schemas that mean the same are the same."""
    return _json(pack), hashlib.sha256(canonical_message(pack)).hexdigest()


def to_settings(settings: NamespaceSettings) -> str:
    """Settings as the JSON that is stored. Raises InvalidField for what no single field's limits can say."""
    found = [
        Violation(f"settings.text_search_configurations[{place}]", "must be russian, english or simple")
        for place, name in enumerate(settings.text_search_configurations)
        if name not in KNOWN_TEXT_SEARCH_CONFIGURATIONS
    ]
    found += [
        Violation(f"settings.retention.{field.name}", "must be at least an hour")
        for field, duration in settings.retention.ListFields()
        if duration.seconds < _LEAST_RETENTION_S
    ]
    found += tuning_violations(settings.tuning)
    if found:
        raise InvalidField(found)
    return _json(settings)


def to_namespace(name: str, settings: Settings) -> Namespace:
    """A namespace with its settings; what they leave open is shown as it is meant."""
    message = ParseDict(json.loads(settings.settings), NamespaceSettings())
    fill_in(message)
    return Namespace(
        namespace=name,
        settings=message,
        settings_version=settings.version,
        updated_at=from_datetime(settings.updated_at) if settings.updated_at else None,
        updated_by=settings.updated_by,
    )


def _json(message: Message) -> str:
    return json.dumps(MessageToDict(message, preserving_proto_field_name=True, use_integers_for_enums=True))
