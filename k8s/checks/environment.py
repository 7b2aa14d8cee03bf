"""What a container is told by its environment, and what the code makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_settings import BaseSettings

from k8s.checks.manifests import Document, Manifests
from services.embedder.settings import EmbedderSettings
from services.reader.settings import ReaderSettings
from services.writer.settings import WriterSettings
from shared.embedder_channel import EmbedderAccess
from shared.settings import DatabaseSettings, ServerSettings, TelemetrySettings

SETTINGS: Mapping[str, tuple[type[BaseSettings], ...]] = {
    "palimpsest-writer": (WriterSettings, EmbedderAccess),
    "palimpsest-reader": (ReaderSettings, ServerSettings, TelemetrySettings, EmbedderAccess),
    "palimpsest-embedder": (EmbedderSettings, ServerSettings, TelemetrySettings),
    "palimpsest-migration": (DatabaseSettings,),
}
"""What each program reads, by the name of its pods."""

NOT_OURS = frozenset({"PGUSER", "PGPASSWORD", "HF_HUB_OFFLINE"})
"""Variables of libraries: asyncpg and the Hugging Face hub."""

FROM_SECRET = "from-a-secret"
"""Stands for what only the cluster knows."""


def environment(container: Document, manifests: Manifests) -> dict[str, str]:
    """The variables of a container; of a config map that is not there, none."""
    variables: dict[str, str] = {}
    for source in container.get("envFrom", []):
        named = manifests.find("ConfigMap", source.get("configMapRef", {}).get("name", ""))
        variables |= named.get("data", {}) if named else {}
    for variable in container.get("env", []):
        variables[variable["name"]] = str(variable.get("value", FROM_SECRET))
    return variables


def known_names(settings: type[BaseSettings]) -> Iterator[str]:
    """The variables that a settings class reads, those of the classes in it among them."""
    prefix = settings.model_config.get("env_prefix", "")
    for name, field in settings.model_fields.items():
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseSettings):
            yield from known_names(inner)
        else:
            yield f"{prefix}{name}".upper()
