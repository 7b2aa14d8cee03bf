"""Mode `jwt`: bearer tokens that an issuer has signed (RFC 7519)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.exceptions import PyJWTError

from shared.authentication.bearer import bearer_token
from shared.authentication.caller import Caller
from shared.authentication.grants import Grants, GrantsError, claimed_caller
from shared.authentication.key_set import KeySet
from shared.authentication.watched_file import WatchedFile
from shared.errors import Unauthenticated

_log = logging.getLogger(__name__)

_REQUIRED = ["exp", "iss", "aud", "sub"]
# What a subject must be to be a label's id.
_MOST_SUBJECT_CHARS = 245


@dataclass(frozen=True)
class Expected:
    """What a token must say of itself."""

    issuer: str
    audience: str
    algorithms: Sequence[str]
    leeway_s: float


class JwtAuthenticator:
    """Knows callers by signed tokens.

    What a caller may do is said by the grants file, by its subject, where there is such a file; then nothing else is
    believed. Without one, by the claim of the token, which is shaped as an entry of that file, less subject and tokens.
    """

    def __init__(self, keys: KeySet, expected: Expected, *, claim: str, grants: WatchedFile[Grants] | None) -> None:
        self._keys, self._expected, self._claim, self._grants = keys, expected, claim, grants

    async def authenticate(self, metadata: Mapping[str, str]) -> Caller:
        """The caller that the token names. Raises Unauthenticated, whatever is wrong with it, and KeysUnavailable."""
        claims = await self._verified(bearer_token(metadata))
        subject = claims["sub"]
        if not isinstance(subject, str) or not subject.isprintable() or not 0 < len(subject) <= _MOST_SUBJECT_CHARS:
            raise Unauthenticated
        return self._caller(subject, claims)

    async def _verified(self, token: str) -> dict[str, Any]:
        try:
            key = await self._keys.find(_key_id(token))
            # The key says by which algorithm it signs; what the token says of it must be the same, and be allowed.
            if key is None or key.algorithm_name not in self._expected.algorithms:
                raise Unauthenticated
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._expected.audience,
                issuer=self._expected.issuer,
                leeway=self._expected.leeway_s,
                options={"require": _REQUIRED},
            )
        except (PyJWTError, ValueError, TypeError, RecursionError):
            raise Unauthenticated from None

    def _caller(self, subject: str, claims: Mapping[str, Any]) -> Caller:
        if self._grants is not None:
            return self._grants.current().by_subject.get(subject) or Caller(subject)
        if self._claim not in claims:
            return Caller(subject)
        try:
            return claimed_caller(subject, claims[self._claim])
        except GrantsError as error:
            # Of the issuer's making, so its operator has to hear of it; the token's sender learns nothing.
            _log.warning("a token's claim is malformed", extra={"fault": str(error)})
            raise Unauthenticated from None


def _key_id(token: str) -> str | None:
    key_id = jwt.get_unverified_header(token).get("kid")
    return key_id if isinstance(key_id, str) else None
