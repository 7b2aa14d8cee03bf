"""The settings that the services share, from environment variables `PALIMPSEST_…`, checked once, at the start."""

import ipaddress
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_FROM_ENVIRONMENT = SettingsConfigDict(env_prefix="PALIMPSEST_", frozen=True, extra="ignore")

MIB = 1024 * 1024

SIGNING_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""What tokens may be signed with. Never `none`; never HS…, whose key would be public here."""


class DatabaseSettings(BaseSettings):
    """Where the database is, and how many connections a process keeps to it."""

    model_config = _FROM_ENVIRONMENT

    dsn: str = Field(default="", repr=False, description="postgresql://user:password@host:port/database")
    listen_dsn: str = Field(
        default="",
        repr=False,
        description="the server itself, for LISTEN, where `dsn` leads to a pooler in transaction mode; empty: the same",
    )
    pool_min: int = Field(default=1, ge=0, description="connections that a process keeps open")
    pool_max: int = Field(
        default=10,
        ge=1,
        description="connections that a process opens at most, of each database, beside one that readiness is asked on",
    )
    statement_cache_size: int = Field(default=1024, ge=0, description="0 behind a PgBouncer older than 1.21")

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        if not self.dsn:
            raise ValueError("PALIMPSEST_DSN is not set")
        if self.pool_min > self.pool_max:
            raise ValueError("PALIMPSEST_POOL_MIN is greater than PALIMPSEST_POOL_MAX")
        return self


class JwtSettings(BaseSettings):
    """Which signed tokens are believed: `PALIMPSEST_JWT_…`."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_JWT_", frozen=True, extra="ignore")

    issuer: str = Field(default="", description="what `iss` must be")
    audience: str = Field(default="palimpsest", description="what `aud` must be, or hold")
    keys: str = Field(default="", description="file or https address of the issuer's JSON Web Key Set")
    keys_ca_file: Path | None = Field(default=None, description="PEM; checks the certificate at that address")
    algorithms: str = Field(default="RS256,ES256,EdDSA", description="with commas; asymmetric ones only")
    leeway_s: float = Field(default=30.0, ge=0, le=300, description="by which clocks may differ")
    claim: str = Field(default="palimpsest", min_length=1, description="the claim that says what the caller may do")

    @property
    def algorithm_names(self) -> tuple[str, ...]:
        """The algorithms, one by one."""
        return tuple(name.strip() for name in self.algorithms.split(",") if name.strip())

    @property
    def keys_is_url(self) -> bool:
        """Whether the keys are fetched."""
        return "://" in self.keys

    def require_usable(self) -> None:
        """Raises ValueError where tokens could not be checked by these settings, or not safely."""
        if not self.issuer or not self.audience or not self.keys:
            raise ValueError("authentication mode jwt needs PALIMPSEST_JWT_ISSUER, _AUDIENCE and _KEYS")
        if self.keys_is_url and urlsplit(self.keys).scheme != "https" and not _is_plaintext_loopback(self.keys):
            raise ValueError("PALIMPSEST_JWT_KEYS must be a file or an https address")
        # With a symmetric one whoever knows the public key could sign.
        if not self.algorithm_names or not set(self.algorithm_names) <= SIGNING_ALGORITHMS:
            raise ValueError(f"PALIMPSEST_JWT_ALGORITHMS must be among {', '.join(sorted(SIGNING_ALGORITHMS))}")


class ServerSettings(BaseSettings):
    """How a service listens, whom it lets in, what it bounds and how it stops."""

    model_config = _FROM_ENVIRONMENT

    host: str = Field(default="127.0.0.1", description="an address, a name, or unix:/path")
    port: int = Field(default=0, ge=0, le=65_535, description="0 is any free port")
    reuse_port: bool = Field(default=False, description="several processes may listen on one port")
    processes: int = Field(default=1, ge=1, le=64, description="of the writer or the reader, on one port")
    health_host: str = Field(default="0.0.0.0", description="where the port for probes listens")
    health_port: int | None = Field(default=None, ge=0, le=65_535, description="a second, plaintext port for probes")
    health_poll_s: float = Field(default=1.0, gt=0, description="how often readiness is asked for")
    ready_timeout_s: float = Field(default=5.0, gt=0, description="an answer later than that counts as not ready")

    auth_mode: Literal["none", "static", "jwt"] = Field(default="none", description="how callers are known")
    auth_grants_file: Path | None = Field(
        default=None, description="JSON; who may do what. Mode static needs it; in mode jwt it goes before the claim"
    )
    jwt: JwtSettings = Field(default_factory=JwtSettings)
    tls_cert_file: Path | None = Field(default=None, description="PEM; with its key: TLS")
    tls_key_file: Path | None = Field(default=None, description="PEM")
    tls_client_ca_file: Path | None = Field(default=None, description="with it, clients must show a certificate")

    max_message_bytes: int = Field(default=32 * MIB, ge=1024, description="each way; larger: RESOURCE_EXHAUSTED")
    max_concurrent_calls: int | None = Field(
        default=None,
        ge=1,
        description="single-message calls that are let in; more: RESOURCE_EXHAUSTED. Unset: of a reader 8 times "
        "`PALIMPSEST_POOL_MAX`, of a writer 16 times, 64 at least; of the embedder, which has a queue of its own, 512",
    )

    drain_s: float = Field(default=0.0, ge=0, description="from NOT_SERVING to refusing new calls")
    grace_s: float = Field(default=20.0, ge=0, description="what calls under way get to finish at the stop")

    keepalive_s: float = Field(default=60.0, gt=0, description="a ping on a silent connection")
    keepalive_timeout_s: float = Field(default=20.0, gt=0, description="a ping unanswered for so long is a dead peer")
    min_ping_interval_s: float = Field(default=10.0, gt=0, description="clients that ping more often are cut off")
    max_connection_age_s: float = Field(
        default=600.0, gt=0, description="then the client connects anew, to any replica"
    )
    max_connection_age_grace_s: float = Field(default=120.0, gt=0, description="what calls get to finish after that")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.auth_mode == "none" and not is_loopback(self.host):
            raise ValueError("authentication mode none listens on loopback only; set PALIMPSEST_AUTH_MODE or _HOST")
        if self.auth_mode == "static" and not self.auth_grants_file:
            raise ValueError("authentication mode static needs PALIMPSEST_AUTH_GRANTS_FILE")
        if self.auth_mode == "jwt":
            self.jwt.require_usable()
        if self.processes > 1 and self.host.startswith("unix:"):
            raise ValueError("several processes cannot share a unix socket; PALIMPSEST_PROCESSES must be 1")
        if (self.tls_cert_file is None) != (self.tls_key_file is None):
            raise ValueError("PALIMPSEST_TLS_CERT_FILE and PALIMPSEST_TLS_KEY_FILE go together")
        if self.tls_client_ca_file and not self.tls_cert_file:
            raise ValueError("PALIMPSEST_TLS_CLIENT_CA_FILE needs PALIMPSEST_TLS_CERT_FILE")
        return self


class TelemetrySettings(BaseSettings):
    """What the process says about itself, and where."""

    model_config = _FROM_ENVIRONMENT

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="what is logged")
    metrics_host: str = Field(default="0.0.0.0", description="where the metrics are served")
    metrics_port: int | None = Field(default=None, ge=1, le=65_535, description="HTTP port of the Prometheus metrics")
    traces: Literal["none", "console", "otlp"] = Field(default="none", description="where spans go")
    otlp_endpoint: str = Field(default="", description="empty is the exporter's own default")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listener on `host`."""
    if host == "localhost" or host.startswith("unix:"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_plaintext_loopback(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and is_loopback(parts.hostname or "")
