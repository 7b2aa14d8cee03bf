"""How a client reaches a service: credentials, limits, keepalive and retries, as gRPC wants them."""

import json
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc

MIB = 1024 * 1024

SERVICES = ("WriterService", "ReaderService", "EmbedderService")

NOT_RETRIED = (("WriterService", "AppendAudit"),)
"""What must not be sent twice: the methods that the contract calls not idempotent."""

STREAMS = (
    ("WriterService", "StreamObservations"),
    ("WriterService", "ReconcileSnapshot"),
    ("EmbedderService", "StreamEmbed"),
)
"""Calls of many requests, which are not sent again: where a server dies in the midst of one that may be, gRPC (1.85)
lets the next hang, even past its deadline."""

# gRPC caps attempts at 5. With these waits a call outlives a restart of about 3 s.
_INITIAL_BACKOFF_S = 0.2
_MAX_BACKOFF_S = 2
_BACKOFF_MULTIPLIER = 2
# After about 50 failures that no success made up for, retries pause: they must not hold an overloaded service down.
_RETRY_THROTTLING = {"maxTokens": 100, "tokenRatio": 0.2}

_KEEPALIVE_TIMEOUT_S = 20


@dataclass(frozen=True)
class Tls:
    """TLS to the services; without files, against the root certificates that gRPC brings. Files are PEM."""

    ca_file: str | Path | None = None
    cert_file: str | Path | None = None
    """The client's own certificate, for services that ask for one; goes with `key_file`."""
    key_file: str | Path | None = None
    server_name: str = ""
    """The name in the services' certificates, where it is not the target's."""

    def credentials(self) -> grpc.ChannelCredentials:
        """The files, read now. Raises OSError where one cannot be read, ValueError where one of a pair is missing."""
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file go together")
        return grpc.ssl_channel_credentials(_read(self.ca_file), _read(self.key_file), _read(self.cert_file))


@dataclass(frozen=True)
class Connection:
    """What all channels of a client have in common."""

    tls: Tls | None = None
    max_attempts: int = 5
    """How often a call is sent while no server takes it, 1 to 5; its deadline binds all attempts together."""
    max_message_bytes: int = 32 * MIB
    keepalive_s: float = 60.0
    """Seconds of silence before a ping. The services cut off clients that ping more often than every 10 s."""

    def open(self, transport: ModuleType, target: str) -> Any:
        """A channel of `transport`: `grpc` or `grpc.aio`. Connects with the first call."""
        if self.tls is None:
            return transport.insecure_channel(target, options=self._options())
        return transport.secure_channel(target, self.tls.credentials(), options=self._options())

    def _options(self) -> list[tuple[str, Any]]:
        options: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", self.max_message_bytes),
            ("grpc.max_send_message_length", self.max_message_bytes),
            ("grpc.keepalive_time_ms", round(self.keepalive_s * 1000)),
            ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_S * 1000),
            # Else a ping goes unanswered for a minute, whatever the keepalive's own timeout is.
            ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_S * 1000),
            ("grpc.http2.max_pings_without_data", 0),  # a silent `Watch` is no reason to stop pinging
            ("grpc.service_config", json.dumps(service_config(self.max_attempts))),
            ("grpc.service_config_disable_resolution", 1),
            # gRPC's default, 256 KiB, would leave larger calls without retries.
            ("grpc.per_rpc_retry_buffer_size", 2 * self.max_message_bytes),
        ]
        if self.tls and self.tls.server_name:
            options.append(("grpc.ssl_target_name_override", self.tls.server_name))
        return options


def service_config(max_attempts: int) -> dict[str, Any]:
    """The gRPC service config: calls spread over the replicas, and sent again while none takes them."""
    config: dict[str, Any] = {"loadBalancingConfig": [{"round_robin": {}}]}
    if max_attempts <= 1:
        return config
    retried = {
        "name": [{"service": f"palimpsest.v1.{service}"} for service in SERVICES],
        "retryPolicy": {
            "maxAttempts": max_attempts,
            "initialBackoff": f"{_INITIAL_BACKOFF_S}s",
            "maxBackoff": f"{_MAX_BACKOFF_S}s",
            "backoffMultiplier": _BACKOFF_MULTIPLIER,
            # CANCELLED, too: so ends a call that comes to a server just as that stops, before it was looked at.
            "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
        },
    }
    # A method's own entry goes before its service's.
    methods = [
        {"service": f"palimpsest.v1.{service}", "method": method} for service, method in (*NOT_RETRIED, *STREAMS)
    ]
    return config | {"methodConfig": [retried, {"name": methods}], "retryThrottling": _RETRY_THROTTLING}


def stays_on_this_machine(target: str) -> bool:
    """Whether nothing that is sent to `target` passes a network."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    address = target.removeprefix("dns:///").removeprefix("ipv4:").removeprefix("ipv6:")
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _read(file: str | Path | None) -> bytes | None:
    return None if file is None else Path(file).read_bytes()
