"""The channels of a client to the three services, and what the client was told about them."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from palimpsest.batches import ObservationBatches
from palimpsest.calls import Policies, PoliciesChannel
from palimpsest.connection import MIB, Connection, Tls, stays_on_this_machine
from palimpsest.consistency import ConsistencyTokens
from palimpsest.token_file import TokenFile


class Channels:
    """What both clients are made of: channels to the targets, with the policies around every call."""

    _transport: ModuleType

    def __init__(
        self,
        target: str = "",
        *,
        writer: str = "",
        reader: str = "",
        embedder: str = "",
        token: str | Callable[[], str] | None = None,
        token_file: str | Path | None = None,
        plaintext_token: bool = False,
        tls: Tls | None = None,
        deadline_s: float | None = 30.0,
        read_your_writes: bool = True,
        max_attempts: int = 5,
        max_message_bytes: int = 32 * MIB,
        keepalive_s: float = 60.0,
    ) -> None:
        """Connects with the first call, not here.

        Args:
            target: where all services are, as gRPC writes it, e.g. `localhost:7400`, `dns:///memory:7400`.
            writer, reader, embedder: where one service is, instead of `target`.
            token: the bearer token; a callable is asked at each call, for tokens that are renewed.
            token_file: a file that holds the token, instead of `token`; it is read again when it changes.
            plaintext_token: send the token without TLS to other machines too, e.g. behind a mesh that encrypts.
            tls: TLS to all targets; None: plaintext.
            deadline_s: seconds that a call with one message each way may take, unless it is given a `timeout`.
            read_your_writes: reads carry the token of this client's latest write to their namespace (RE-12).
            max_attempts: how often a call is sent while no server takes it, 1 to 5.
            max_message_bytes: largest message, each way; the services' own limit is 32 MiB unless configured.
            keepalive_s: seconds of silence before a connection is probed, 10 or more.

        Raises:
            OSError: `token_file` cannot be read.
            ValueError: no target is given, or two tokens; or a token would leave this machine in plaintext.
        """
        if token_file is not None:
            if token is not None:
                raise ValueError("token and token_file exclude each other")
            token = TokenFile(token_file)
        self._targets = {"writer": writer or target, "reader": reader or target, "embedder": embedder or target}
        self._require_targets(secret=token is not None and tls is None and not plaintext_token)
        self._connection = Connection(tls, max_attempts, max_message_bytes, keepalive_s)
        self._tokens = ConsistencyTokens()
        self._policies = Policies(deadline_s, token, self._tokens, read_your_writes)
        self._channels: dict[str, Any] = {}

    def consistency_token(self, namespace: str) -> str:
        """The token of this client's latest write to `namespace`, for a reader elsewhere; empty where there is none."""
        return self._tokens.latest(namespace)

    def forget_writes(self) -> None:
        """Lets reads go on after CONSISTENCY_TOKEN_FOREIGN: a failover may have lost what this client wrote."""
        self._tokens.forget()

    def _require_targets(self, *, secret: bool) -> None:
        targets = {target for target in self._targets.values() if target}
        if not targets:
            raise ValueError("no target is given")
        exposed = sorted(target for target in targets if secret and not stays_on_this_machine(target))
        if exposed:
            raise ValueError(f"the token would go to {exposed[0]} in plaintext; give tls, or plaintext_token=True")

    def _stub(self, service: str, stub: Callable[[Any], Any]) -> Any:
        target = self._targets[service]
        if not target:
            raise ValueError(f"no target of the {service} is given")
        if target not in self._channels:
            self._channels[target] = self._connection.open(self._transport, target)
        return stub(PoliciesChannel(self._channels[target], self._policies))

    def _batches(self, namespace: str, *, batch_items: int, wait_for_embedding: bool) -> ObservationBatches:
        return ObservationBatches(
            namespace,
            most_bytes=self._connection.max_message_bytes,
            most_items=batch_items,
            wait_for_embedding=wait_for_embedding,
        )
