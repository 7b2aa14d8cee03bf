"""An OpenAI-compatible endpoint whose answers a test chooses, on a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """What is answered: a status, a body, more headers; or silence, until the client has gone."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_silent: bool = False
    is_cut: bool = False
    """The connection breaks before the body is whole."""


Answering = Callable[[str], Reply]
"""From the text of a message to what is answered."""


class Stub:
    """The endpoint: what it is asked, and what it answers."""

    def __init__(self) -> None:
        self.answering: Answering = lambda text: proposing()
        self.asked: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.url = ""

    @property
    def texts(self) -> list[str]:
        """The messages that it was asked about."""
        return [str(each["messages"][-1]["content"]) for each in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request and closes."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            [size] = [line.split(":")[1] for line in head.lower().split("\r\n") if line.startswith("content-length")]
            asked = json.loads(await reader.readexactly(int(size)))
            self.asked.append(asked)
            self.headers.append(head)
            reply = self.answering(asked["messages"][-1]["content"])
            if reply.is_silent:
                await reader.read()
            else:
                writer.write(_head(reply) + reply.body)
                await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def _head(reply: Reply) -> bytes:
    size = len(reply.body) + (10 if reply.is_cut else 0)
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    return f"HTTP/1.1 {reply.status} X\r\nContent-Length: {size}\r\nConnection: close\r\n{more}\r\n".encode()


def saying(content: str) -> Reply:
    """A model that says this."""
    return Reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())


def proposing(*facts: Any, entities: Sequence[Any] = ()) -> Reply:
    """A model that proposes these."""
    return saying(json.dumps({"entities": list(entities), "facts": facts}, ensure_ascii=False))


def proposed(subject: str, predicate: str, value: str, quote: str, **fields: Any) -> dict[str, Any]:
    """A fact about another entity, as a model proposes it."""
    return {
        "subject": subject,
        "predicate": predicate,
        "object": value,
        "object_is_entity": True,
        "quote": quote,
        **fields,
    }


@asynccontextmanager
async def stub_serving() -> AsyncIterator[Stub]:
    """An endpoint for as long as the block runs."""
    stub = Stub()
    server = await asyncio.start_server(stub.serve, "127.0.0.1", 0)
    stub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat/completions"
    try:
        yield stub
    finally:
        server.close()
