"""The writer's settings, from the environment."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.settings import DatabaseSettings, ServerSettings, TelemetrySettings

MIB = 1024 * 1024


class EmbeddingSettings(BaseSettings):
    """How passages get their vectors: `PALIMPSEST_EMBEDDING_…`."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_EMBEDDING_", frozen=True, extra="ignore")

    target: str = Field(
        default="127.0.0.1:50052",
        description="address of the embedder, as gRPC names it; several, by commas, while a model is changed",
    )
    enabled: bool = Field(default=True, description="false: another replica embeds, this one only queues")
    batch_passages: int = Field(default=64, ge=1, le=2048, description="passages of one pass")
    lease_s: float = Field(
        default=300.0, gt=0, description="after that, others may take what a dead writer had claimed"
    )
    call_timeout_s: float = Field(default=120.0, gt=0, description="of one call of the embedder; less than the lease")
    poll_s: float = Field(default=1.0, gt=0, description="how often the queue is looked at when nothing is notified")
    first_backoff_s: float = Field(default=0.5, gt=0, description="after the first failure; doubled after each further")
    longest_backoff_s: float = Field(default=30.0, gt=0, description="after many failures")
    most_attempts: int = Field(default=5, ge=1, description="a passage that failed so often is set aside")


class CaptureSettings(BaseSettings):
    """What is taken out of captured messages: `PALIMPSEST_CAPTURE_…`."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_CAPTURE_", frozen=True, extra="ignore")

    service_tags: str = Field(
        default="system-reminder,system_reminder,tool_call,tool_calls,tool_result,tool_results,tool_use,function_call,"
        "function_calls,function_results",
        description="tags, by commas, of the blocks that programs around a model put into messages",
    )

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags."""
        return tuple(tag.strip() for tag in self.service_tags.split(",") if tag.strip())


class ExtractionSettings(BaseSettings):
    """How facts are extracted from captured messages: `PALIMPSEST_EXTRACTION_…`."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_EXTRACTION_", frozen=True, extra="ignore")

    url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="of chat completions of an OpenAI-compatible endpoint, e.g. ending in /v1/chat/completions; empty: "
        "nothing is extracted or queued",
    )
    model: str = Field(default="", max_length=200, description="the endpoint's name of the model")
    api_key_file: Path | None = Field(default=None, description="file with the key; read at each call")
    schema_mode: Literal["json_schema", "json_object", "none"] = Field(
        default="json_schema", description="the response_format that the endpoint understands"
    )
    enabled: bool = Field(default=True, description="false: another replica extracts, this one only queues")
    concurrency: int = Field(default=4, ge=1, le=64, description="messages of one pass, and calls at a time")
    call_timeout_s: float = Field(default=120.0, gt=0, description="of one call as a whole; less than the lease")
    lease_s: float = Field(
        default=300.0, gt=0, description="after that, others may take what a dead writer had claimed"
    )
    longest_response_bytes: int = Field(default=MIB, ge=1024, description="a longer answer is broken off")
    longest_text: int = Field(default=50_000, ge=100, description="characters of a message that are sent")
    poll_s: float = Field(default=1.0, gt=0, description="how often the queue is looked at when nothing is notified")
    first_backoff_s: float = Field(default=5.0, gt=0, description="after the first failure; doubled after each further")
    longest_backoff_s: float = Field(default=3_600.0, gt=0, description="after many failures")
    most_attempts: int = Field(default=8, ge=1, description="a message that failed so often becomes a dead letter")

    @model_validator(mode="after")
    def _lease_outlasts_a_call(self) -> Self:
        if self.call_timeout_s >= self.lease_s:
            raise ValueError("PALIMPSEST_EXTRACTION_CALL_TIMEOUT_S must be less than PALIMPSEST_EXTRACTION_LEASE_S")
        return self


class CurationSettings(BaseSettings):
    """How namespaces are curated and relieved of what they keep no longer: `PALIMPSEST_CURATION_…`."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_CURATION_", frozen=True, extra="ignore")

    enabled: bool = Field(default=True, description="false: this replica curates only when it is called to")
    interval_s: float = Field(default=900.0, gt=0, description="between a namespace's passes, of whichever replica")
    lease_s: float = Field(default=300.0, gt=0, description="after that, others take what a dead replica had begun")
    most_items: int = Field(default=10_000, ge=1, description="things of a namespace looked at before another's turn")
    most_redactions: int = Field(default=500, ge=1, description="observations looked at for retention, likewise")


class WriterSettings(BaseSettings):
    """All that the writer is told."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_WRITER_", frozen=True, extra="ignore")

    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    server: ServerSettings = Field(default_factory=ServerSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    curation: CurationSettings = Field(default_factory=CurationSettings)
    capture: CaptureSettings = Field(default_factory=CaptureSettings)
    extraction: ExtractionSettings = Field(default_factory=ExtractionSettings)
    migrate_timeout_s: float = Field(default=60.0, gt=0, description="of one attempt to create or upgrade the schema")
    protection_age_s: float = Field(
        default=1.0,
        ge=0,
        description="after so long it acts that a namespace protects personal data, or no longer does",
    )
    longest_wait_s: float = Field(default=60.0, gt=0, description="for vectors, in calls without a deadline")
    group_items: int = Field(
        default=200, ge=1, description="most observations of single calls, or of a stream, in one transaction"
    )
    group_bytes: int = Field(default=4 * MIB, ge=1, description="most bytes of one transaction of these")
