"""The consistency tokens that a client remembers, so that its reads see its writes (RE-12)."""

import base64
from collections import OrderedDict
from threading import Lock

# A token is opaque but for this: where these first bytes of two tokens are equal they tell of one history, in which the
# later has the greater following bytes. Answers of concurrent writes overtake each other, so the order counts.
_HISTORY_BYTES = 13
_POSITION_BYTES = 8

_MOST_NAMESPACES = 10_000


class ConsistencyTokens:
    """The token of the latest write to each namespace. Safe to use from several threads.

    The namespaces written longest ago share one token, the latest of theirs: memory is bounded, and no read is stale.
    """

    def __init__(self, most_namespaces: int = _MOST_NAMESPACES) -> None:
        self._most_namespaces = most_namespaces
        self._tokens: OrderedDict[str, str] = OrderedDict()
        self._shared = ""
        self._lock = Lock()

    def latest(self, namespace: str) -> str:
        """The token that a read of `namespace` has to carry; empty where nothing was written."""
        with self._lock:
            return self._tokens.get(namespace, self._shared)

    def remember(self, namespace: str, token: str) -> None:
        """Keeps the token of a write, unless it is of an earlier one than the token that is kept."""
        with self._lock:
            self._tokens[namespace] = later(self._tokens.get(namespace, self._shared), token)
            self._tokens.move_to_end(namespace)
            if len(self._tokens) > self._most_namespaces:
                _, oldest = self._tokens.popitem(last=False)
                self._shared = later(self._shared, oldest)

    def forget(self) -> None:
        """Drops every token: reads no longer wait for what was written before."""
        with self._lock:
            self._tokens.clear()
            self._shared = ""


def later(kept: str, arrived: str) -> str:
    """The later of two tokens; of tokens that cannot be compared the one that arrived last."""
    one, other = _bytes(kept), _bytes(arrived)
    same_history = one[:_HISTORY_BYTES] == other[:_HISTORY_BYTES] and len(one) == len(other)
    return kept if same_history and _position(one) > _position(other) else arrived


def _position(raw: bytes) -> bytes:
    return raw[_HISTORY_BYTES : _HISTORY_BYTES + _POSITION_BYTES]


def _bytes(token: str) -> bytes:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""
