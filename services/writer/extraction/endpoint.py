"""Asks an OpenAI-compatible endpoint of chat completions (CP-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import httpx2

from services.writer.extraction.prompt import messages, response_format
from services.writer.settings import ExtractionSettings

_OK = 200
# The endpoint is not there, not for us, or asks for patience: no message is at fault.
_UNAVAILABLE = frozenset({401, 403, 404, 407, 408, 425, 429, 502, 503, 504})


class ExtractorUnavailableError(Exception):
    """The extractor cannot be asked now, whatever is asked; perhaps it says for how long."""

    def __init__(self, what: str, retry_after_s: float = 0.0) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s


class ExtractionFailedError(Exception):
    """The extractor has no answer to this message; the words hold nothing of it."""


class Extractor(Protocol):
    """Proposes facts."""

    @property
    def name(self) -> str:
        """What is noted as having extracted: its name with its version."""
        ...

    async def answer(self, text: str, author: str, said_at: str) -> bytes:
        """The body of its answer. Raises ExtractorUnavailableError and ExtractionFailedError."""
        ...


class Endpoint:
    """An endpoint, with the connections to it."""

    def __init__(self, settings: ExtractionSettings) -> None:
        self._settings = settings
        # Its own limit is of the whole call, below; what the environment says of proxies is not meant for it.
        self._client = httpx2.AsyncClient(timeout=None, trust_env=False, follow_redirects=False)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._settings.model or "model"

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def answer(self, text: str, author: str, said_at: str) -> bytes:
        """As `Extractor.answer`."""
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": messages(text[: self._settings.longest_text], author, said_at),
            "temperature": 0,
        }
        if wanted := response_format(self._settings.schema_mode):
            body["response_format"] = wanted
        try:
            async with asyncio.timeout(self._settings.call_timeout_s):
                return await self._ask(body)
        except TimeoutError:
            raise ExtractionFailedError("no answer in time") from None
        except (httpx2.ConnectError, OSError):
            raise ExtractorUnavailableError("the endpoint cannot be reached") from None
        except httpx2.HTTPError:
            raise ExtractionFailedError("the connection broke") from None

    async def _ask(self, body: Mapping[str, Any]) -> bytes:
        url, headers = self._settings.url, await asyncio.to_thread(self._headers)
        async with self._client.stream("POST", url, json=body, headers=headers) as response:
            if response.status_code in _UNAVAILABLE:
                waits_s = _retry_after_s(response.headers.get("retry-after", ""))
                raise ExtractorUnavailableError(f"the endpoint answers {response.status_code}", waits_s)
            if response.status_code != _OK:
                raise ExtractionFailedError(f"the endpoint answers {response.status_code}")
            return await self._bounded(response)

    async def _bounded(self, response: httpx2.Response) -> bytes:
        read = bytearray()
        async for part in response.aiter_bytes():
            read += part
            if len(read) > self._settings.longest_response_bytes:
                raise ExtractionFailedError("the answer is too long")
        return bytes(read)

    def _headers(self) -> dict[str, str]:
        """Read anew each time, so that a key can be changed without a restart."""
        if self._settings.api_key_file is None:
            return {}
        try:
            key = self._settings.api_key_file.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            raise ExtractorUnavailableError("the file of the API key cannot be read") from None
        return {"Authorization": f"Bearer {key}"}


def _retry_after_s(value: str) -> float:
    """Seconds from now, by a number or a date; 0 where it says nothing."""
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
