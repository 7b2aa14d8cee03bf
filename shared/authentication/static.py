"""Mode `static`: bearer tokens whose hashes a grants file lists."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from shared.authentication.bearer import bearer_token
from shared.authentication.caller import Caller
from shared.authentication.grants import Grants, KnownToken
from shared.authentication.watched_file import WatchedFile
from shared.errors import Unauthenticated


class StaticAuthenticator:
    """Knows callers by the SHA-256 of their tokens."""

    def __init__(self, file: WatchedFile[Grants], now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._file = file
        self._now = now
        # Tokens are found under a key that nobody outside can compute, so that how long the search takes says nothing.
        self._key = secrets.token_bytes(32)
        self._grants: Grants | None = None
        self._found: dict[bytes, tuple[bytes, KnownToken]] = {}

    async def authenticate(self, metadata: Mapping[str, str]) -> Caller:
        """The caller of the token. Raises Unauthenticated, whatever is wrong with it."""
        digest = hashlib.sha256(bearer_token(metadata).encode()).digest()
        expected, known = self._tokens().get(self._place(digest), (b"", None))
        if known is None or not hmac.compare_digest(expected, digest):
            raise Unauthenticated
        if known.expires_at is not None and known.expires_at <= self._now():
            raise Unauthenticated
        return known.caller

    def _tokens(self) -> Mapping[bytes, tuple[bytes, KnownToken]]:
        grants = self._file.current()
        if grants is not self._grants:
            self._found = {self._place(digest): (digest, known) for digest, known in grants.by_token.items()}
            self._grants = grants
        return self._found

    def _place(self, digest: bytes) -> bytes:
        return hashlib.blake2b(digest, key=self._key, digest_size=16).digest()
