"""The reader's settings, from the environment: `PALIMPSEST_READER_…`; the database's are shared by all services."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.settings import MIB, DatabaseSettings


class ReaderSettings(BaseSettings):
    """Where the reader reads and has queries embedded, and how long it waits."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_READER_", frozen=True, extra="ignore")

    database: DatabaseSettings = Field(default_factory=DatabaseSettings)

    embedder_target: str = Field(
        default="",
        description="gRPC target of the embedder; several, by commas, while a model is changed; empty: words only",
    )
    embed_timeout_s: float = Field(default=0.25, gt=0, description="what embedding a query may take of a call")
    cached_queries: int = Field(default=2048, ge=0, description="query vectors that are kept")

    rerank: bool = Field(default=False, description="whether the embedder has a cross-encoder, which is to be asked")
    rerank_head: int = Field(default=50, ge=2, le=256, description="how many of the best of a search it reads")
    rerank_timeout_s: float = Field(default=1.0, gt=0, description="what it may take of a call")

    protection_age_s: float = Field(
        default=1.0,
        ge=0,
        description="after so long it acts that a namespace protects personal data, or no longer does",
    )
    primary_dsn: str = Field(
        default="",
        repr=False,
        description="the primary, where the reader's database is a replica: traces and audit events are left there, "
        "and what was known at a moment is settled there; empty: the reader's database is the primary",
    )
    primary_after_s: float | None = Field(
        default=None,
        ge=0,
        description="a read whose token a replica does not show after so long is answered by the primary; unset: never",
    )

    exact_scan_rows: int = Field(
        default=15_000,
        ge=0,
        description="up to so many vectors, times their share of the index, are compared one by one, not walked to",
    )
    consistency_wait_s: float = Field(
        default=5.0, gt=0, description="how long a call without a deadline waits for what its token asks for"
    )
    trace_timeout_s: float = Field(
        default=1.0, gt=0, description="how long an answer may wait for its trace to be left, at most"
    )
    watch_poll_s: float = Field(
        default=0.2, gt=0, description="how often it is looked whether watched namespaces have changed"
    )
    watchers: int = Field(default=4_096, ge=1, description="streams of changes that one process serves at most")
    watch_reads: int = Field(
        default=2, ge=1, description="connections that reading changes may take at a time, whoever watches"
    )
    watch_kept_bytes: int = Field(
        default=128 * MIB,
        ge=0,
        description="what is kept of changes for streams that are a little behind, of all together; what does not fit, "
        "and what is beyond 16 MiB of one namespace and view, is read from the database by whoever still needs it",
    )
    watch_recheck_s: float = Field(
        default=5.0,
        gt=0,
        description="after so long an open stream is ended if its caller may no longer see what it could",
    )
    watch_renew_s: float = Field(
        default=3_600.0,
        gt=0,
        description="after so long a stream without changes tells a newer cursor; less keeps it open through proxies",
    )
    statement_timeout_s: float = Field(
        default=30.0, gt=0, description="what a call without a deadline may spend in the database"
    )

    @model_validator(mode="after")
    def _has_a_primary(self) -> Self:
        if self.primary_after_s is not None and not self.primary_dsn:
            raise ValueError("PALIMPSEST_READER_PRIMARY_AFTER_S needs PALIMPSEST_READER_PRIMARY_DSN")
        return self
