"""Remembers the vectors of queries, which come again: agents ask the same in every turn."""

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Sequence

from services.embedder import metrics
from services.embedder.backend import Backend, InputType
from services.embedder.embedding import Embedded, Embedder

_KEY_BYTES = 16


class CachingEmbedder(Embedder):
    """An embedder that computes a query it has computed lately no second time. It keeps hashes of texts, and no text.

    Passages are not kept: whoever stores them embeds equal texts once (DO-4).
    """

    def __init__(
        self, backend: Backend, *, cached_queries: int, batch_tokens: int = 0, queue_tokens: int = 500_000
    ) -> None:
        super().__init__(backend, batch_tokens=batch_tokens, queue_tokens=queue_tokens)
        self._most = cached_queries
        self._known: OrderedDict[bytes, Embedded] = OrderedDict()

    async def embed(
        self,
        texts: Sequence[str],
        input_type: InputType,
        deadline: float | None = None,
        caller: Hashable = None,
    ) -> list[Embedded | Exception]:
        """As `Embedder.embed`; failures are not remembered."""
        if input_type is not InputType.QUERY or not self._most:
            return await super().embed(texts, input_type, deadline, caller)
        keys = [_key(text) for text in texts]
        known = {key: found for key in keys if (found := self._recalled(key)) is not None}
        new = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in known]
        metrics.cached_queries.labels("hit").inc(len(texts) - len(new))
        metrics.cached_queries.labels("miss").inc(len(new))
        made = iter(await super().embed([text for _, text in new], input_type, deadline, caller) if new else ())
        outcomes = [known.get(key) or next(made) for key in keys]
        self._remember(keys, outcomes)
        return outcomes

    def _recalled(self, key: bytes) -> Embedded | None:
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
        return found

    def _remember(self, keys: Sequence[bytes], outcomes: Sequence[Embedded | Exception]) -> None:
        for key, outcome in zip(keys, outcomes, strict=True):
            if isinstance(outcome, Embedded):
                self._known[key] = outcome
        while len(self._known) > self._most:
            self._known.popitem(last=False)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest()
