"""The public keys of an issuer of tokens (JSON Web Key Set, RFC 7517), from a file or an address."""

import asyncio
import json
import logging
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Protocol, TypeAlias

from jwt import PyJWK
from jwt.exceptions import PyJWTError
from prometheus_client import Counter

from shared.authentication.watched_file import WatchedFile
from shared.errors import KeysUnavailable
from shared.settings import SIGNING_ALGORITHMS
from shared.telemetry import registry

_log = logging.getLogger(__name__)

FETCH_TIMEOUT_S = 5.0
FETCHED_EVERY_S = 300.0
"""How long a key that its issuer has withdrawn may be accepted at most, where the issuer can be reached."""
FETCHED_AT_MOST_EVERY_S = 10.0
"""So that tokens with invented key ids cannot make us call the issuer again and again."""
_MOST_BYTES = 1024 * 1024

fetches = Counter(
    "palimpsest_key_set_fetches", "Times that the issuer's keys were asked for.", ["outcome"], registry=registry
)

Keys: TypeAlias = Mapping[str, PyJWK]
"""By their ids."""
Fetch: TypeAlias = Callable[[], bytes]


class KeySet(Protocol):
    """Where keys are found."""

    async def find(self, key_id: str | None) -> PyJWK | None:
        """The key of an id; without an id the only key that there is. Raises KeysUnavailable."""


def parsed_keys(raw: bytes) -> Keys:
    """The keys of a set that can check signatures; others are left out. Raises ValueError where none is left."""
    document = json.loads(raw)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError("keys: is not a list of keys")
    found = {}
    for entry in entries:
        key = _usable(entry)
        if key is not None:
            found[str(entry.get("kid", ""))] = key
    if not found:
        raise ValueError("keys: none can be used to check signatures")
    return found


def _usable(entry: object) -> PyJWK | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(entry)
    except (PyJWTError, TypeError, ValueError):
        return None
    return key if key.algorithm_name in SIGNING_ALGORITHMS else None


def _chosen(keys: Keys, key_id: str | None) -> PyJWK | None:
    if key_id is None:
        return next(iter(keys.values())) if len(keys) == 1 else None
    return keys.get(key_id)


class FileKeys:
    """Keys in a file, which may be replaced at any time."""

    def __init__(self, path: Path) -> None:
        """Reads the file. Raises OSError and ValueError."""
        self._file: WatchedFile[Keys] = WatchedFile(path, parsed_keys, name="keys")

    async def find(self, key_id: str | None) -> PyJWK | None:
        """See `KeySet`."""
        return _chosen(self._file.current(), key_id)


class FetchedKeys:
    """Keys at an address, remembered. They stay in force while the issuer cannot be reached."""

    def __init__(self, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch, self._clock = fetch, clock
        self._keys: Keys = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> PyJWK | None:
        """See `KeySet`. An unknown id is asked for, with a bounded rate: issuers change their keys."""
        key = _chosen(self._keys, key_id)
        if key is None:
            await self._refresh()
            if not self._keys:
                raise KeysUnavailable
            return _chosen(self._keys, key_id)
        if self._clock() - self._fetched_at >= FETCHED_EVERY_S and self._may_try():
            self._refreshing = asyncio.create_task(self._refresh())  # nobody waits for it
        return key

    def _may_try(self) -> bool:
        return not self._fetching.locked() and self._clock() - self._tried_at >= FETCHED_AT_MOST_EVERY_S

    async def _refresh(self) -> None:
        """Asks the issuer, unless that was done just now; who comes meanwhile waits for the same answer."""
        async with self._fetching:
            if self._clock() - self._tried_at < FETCHED_AT_MOST_EVERY_S:
                return
            self._tried_at = self._clock()
            try:
                self._keys = parsed_keys(await asyncio.to_thread(self._fetch))
            except (OSError, ValueError) as error:
                fetches.labels("failed").inc()
                _log.error("the issuer's keys cannot be read", extra={"fault": type(error).__name__})
                return
            self._fetched_at = self._clock()
            fetches.labels("read").inc()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Keys come from where the operator said, and from nowhere else."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Refuses."""


def fetching(url: str, ca_file: Path | None) -> Fetch:
    """What reads `url`; the issuer's certificate is checked against `ca_file`, or what the system trusts."""
    context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _NoRedirect
    )

    def fetch() -> bytes:
        with opener.open(url, timeout=FETCH_TIMEOUT_S) as response:
            raw: bytes = response.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise ValueError("keys: the set is larger than 1 MiB")
        return raw

    return fetch
