"""What is asked of every memory that is compared. It runs in a peer's own environment: Python alone is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

Embed: TypeAlias = Callable[[str], Sequence[float]]
"""A text's vector: 384 numbers, of length 1."""


class CannotBeAsked(Exception):
    """The peer's documented API has no way to ask for this; the message says what is missing."""


@dataclass(frozen=True)
class Item:
    """Something that was said."""

    id: str
    namespace: str
    text: str
    author: str = ""
    group: str = ""
    time: str = ""
    """RFC 3339, or empty."""
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """The text as a memory stores it that has no place for who said it."""
        return f"{self.author}: {self.text}" if self.author else self.text


@dataclass(frozen=True)
class Hit:
    """Something that was found, or is stored."""

    id: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """A value that holds from a moment on (RFC 3339), in the place of an earlier one."""

    subject: str
    predicate: str
    value: str
    since: str

    @property
    def sentence(self) -> str:
        """It in words."""
        return f"{self.subject} {self.predicate} {self.value}"


@dataclass(frozen=True)
class Setting:
    """What a peer finds."""

    folder: Path
    """For files of its own."""
    dsn: str
    """Of an empty database in a Postgres that no other peer has; empty where it needs none."""
    embed: Embed
    """The vector of a text, from memory."""
    embed_otherwise: Embed
    """The same in the space of another model that has as many numbers."""
    embeddings_url: str
    """The same by HTTP, as OpenAI's embeddings; `…/other` for the other model."""
    embedder: str
    """The same as a gRPC target of `EmbedderService`, which `other_embedder` is for the other model."""
    other_embedder: str

    def of_the_other_model(self) -> Setting:
        """What a peer finds that is opened with the other model."""
        return replace(
            self,
            embed=self.embed_otherwise,
            embeddings_url=f"{self.embeddings_url}/other",
            embedder=self.other_embedder,
        )


class Peer:
    """A memory. Methods that a peer has no way to do raise CannotBeAsked; no other raises it."""

    batches = True
    """Whether one call takes several items."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.notes: list[str] = []
        """What the last search said of itself, such as that a signal was missing."""

    async def open(self) -> None:
        """Connects, starts what has to be started, makes schema and indexes."""

    async def reset(self) -> None:
        """Forgets everything."""
        raise NotImplementedError

    async def add(self, item: Item) -> None:
        """Takes in one item; when it returns, the item is kept."""
        raise NotImplementedError

    async def add_many(self, items: Sequence[Item]) -> None:
        """Takes in items of one namespace by one call. Raises where one of them was refused."""
        raise NotImplementedError

    async def ready(self) -> None:
        """Returns when all that was added can be found in every way that the peer has."""

    async def search(self, namespace: str, text: str, limit: int, *, relevant: bool = False) -> list[Hit]:
        """The best hits, best first. `relevant`: only what the peer holds to be an answer, by its own default; else as
        many as there are."""
        raise NotImplementedError

    async def search_words(self, namespace: str, text: str, limit: int) -> list[Hit]:
        """The best hits by words alone."""
        raise CannotBeAsked("there is no search by words alone")

    async def stored(self, namespace: str) -> list[Hit]:
        """All that is kept of a namespace, as the peer lists it."""
        raise NotImplementedError

    async def state(self, namespace: str, fact: Fact) -> None:
        """Takes in a fact, in the place of what was said of its subject and predicate before: here as an item."""
        await self.replace(Item(f"{fact.subject} {fact.predicate}", namespace, fact.sentence))

    async def replace(self, item: Item) -> None:
        """Takes in an item in the place of the one with its id, if there is one."""
        raise CannotBeAsked("nothing takes another's place")

    async def as_of(self, namespace: str, subject: str, predicate: str, moment: str) -> list[str]:
        """The values that held at a moment."""
        raise CannotBeAsked("there is no time to ask about")

    async def delete(self, namespace: str, item_id: str) -> None:
        """Deletes an item."""
        raise NotImplementedError

    async def change_model(self) -> None:
        """Opens the same store with the other model."""
        raise CannotBeAsked("vectors are the caller's")

    async def close(self) -> None:
        """Ends what `open` began."""
