"""The channel of writer and reader to an embedder, with the credentials that it asks for."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc.aio
from palimpsest.connection import Tls, service_config, stays_on_this_machine
from palimpsest.token_file import TokenFile
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

# All replicas behind a name have their share of the calls, and not one of them all; our callers retry by themselves.
_SPREAD = (
    ("grpc.service_config", json.dumps(service_config(max_attempts=1))),
    ("grpc.service_config_disable_resolution", 1),
)


class EmbedderAccess(BaseSettings):
    """By what the embedder knows writer and reader: `PALIMPSEST_EMBEDDER_ACCESS_…`. Without anything: plaintext."""

    model_config = SettingsConfigDict(env_prefix="PALIMPSEST_EMBEDDER_ACCESS_", frozen=True, extra="ignore")

    token_file: Path | None = Field(default=None, description="bearer token of a caller that may read; may be renewed")
    plaintext_token: bool = Field(default=False, description="send it without TLS to other machines, e.g. in a mesh")
    tls: bool = Field(default=False, description="TLS against the certificates that gRPC brings; implied by the files")
    ca_file: Path | None = Field(default=None, description="PEM; checks the embedder's certificate")
    cert_file: Path | None = Field(default=None, description="PEM; the certificate to show, with its key")
    key_file: Path | None = Field(default=None, description="PEM")
    server_name: str = Field(default="", description="the name in the embedder's certificate, if not the target's")

    def encryption(self) -> Tls | None:
        """None: plaintext."""
        if not self.tls and self.ca_file is None and self.cert_file is None:
            return None
        return Tls(self.ca_file, self.cert_file, self.key_file, self.server_name)


def embedder_channel(
    target: str, *, options: Sequence[tuple[str, Any]] = (), access: EmbedderAccess | None = None
) -> grpc.aio.Channel:
    """A channel that connects at first use; `access` is from the environment, unless it is given.

    Raises OSError where a file cannot be read, ValueError where one makes no sense, or a token would leave this machine
    in plaintext.
    """
    access = access or EmbedderAccess()
    tls = access.encryption()
    if access.token_file and tls is None and not (access.plaintext_token or stays_on_this_machine(target)):
        raise ValueError("the embedder's token would be sent in plaintext: PALIMPSEST_EMBEDDER_ACCESS_TLS encrypts it")
    interceptors = [_Bearer(TokenFile(access.token_file))] if access.token_file else []
    options = (*_SPREAD, *options)
    if tls is None:
        return grpc.aio.insecure_channel(target, options=options, interceptors=interceptors)
    named = [("grpc.ssl_target_name_override", tls.server_name)] if tls.server_name else []
    return grpc.aio.secure_channel(target, tls.credentials(), options=[*options, *named], interceptors=interceptors)


class _Bearer(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]  # grpc ships no types
    """Shows the token with each call."""

    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    async def intercept_unary_unary(
        self, continuation: Callable[..., Any], client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        """Adds the token to what the call sends."""
        metadata = (*(client_call_details.metadata or ()), ("authorization", f"Bearer {self._token()}"))
        details = client_call_details._replace(metadata=grpc.aio.Metadata(*metadata))
        return await continuation(details, request)
