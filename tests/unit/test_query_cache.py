"""EM-1: queries that come again are computed once."""

from collections.abc import AsyncIterator

import numpy as np
import pytest

from services.embedder.backend import CutText, InputType, Window
from services.embedder.embedding import UnreadableText
from services.embedder.fingerprint import Fingerprint
from services.embedder.query_cache import CachingEmbedder
from shared.telemetry import registry

QUERY, PASSAGE = InputType.QUERY, InputType.PASSAGE


class Counting:
    """A model whose vectors tell text and type apart, and that notes what it computes."""

    name, device, dtype, max_tokens, batch_tokens, parallel_runs = "counting", "cpu", "float32", 512, 512, 1
    fingerprint = Fingerprint("counting", "1", "", "", "mean", 2, True)

    def __init__(self):
        self.computed = []

    def cut(self, texts, input_type):
        return [CutText((Window((text, input_type), 3, 1),) if text else (), 3) for text in texts]

    def prepare(self, windows):
        return windows

    def run(self, windows):
        self.computed += [window.content for window in windows]
        return np.array([[len(text), 1 + (kind is QUERY)] for text, kind in (w.content for w in windows)], np.float32)

    def encode(self, windows):
        return self.run(windows)


@pytest.fixture
def model():
    return Counting()


@pytest.fixture
async def embedder(model) -> AsyncIterator[CachingEmbedder]:
    made = CachingEmbedder(model, cached_queries=3)
    made.start()
    yield made
    await made.close()


def counted(outcome):
    return registry.get_sample_value("palimpsest_embedder_queries_total", {"outcome": outcome}) or 0


async def test_a_query_is_computed_once(embedder, model):
    """EM-1: and is the same to the last bit; the metrics tell."""
    hits, misses = counted("hit"), counted("miss")
    first = await embedder.embed(["one", "another"], QUERY)
    again = await embedder.embed(["another", "new", "one"], QUERY)
    assert again[0] == first[1]
    assert again[2] == first[0]
    assert [text for text, _ in model.computed] == ["one", "another", "new"]
    assert (counted("hit") - hits, counted("miss") - misses) == (2, 3)


async def test_a_passage_is_no_query(embedder, model):
    """EM-1: the two are different inputs of the same text, and passages are not kept."""
    query, *_ = await embedder.embed(["text"], QUERY)
    passage, *_ = await embedder.embed(["text"], PASSAGE)
    assert query != passage
    assert await embedder.embed(["text"], PASSAGE) == [passage]
    assert model.computed == [("text", QUERY), ("text", PASSAGE), ("text", PASSAGE)]


async def test_those_not_asked_for_longest_go(embedder, model):
    """EM-1: the room is bounded."""
    for text in ("a", "bb", "ccc", "a", "dddd", "a", "bb"):
        await embedder.embed([text], QUERY)
    assert [text for text, _ in model.computed] == ["a", "bb", "ccc", "dddd", "bb"]


async def test_more_than_the_room_in_one_call(embedder):
    """EM-1: each is answered."""
    texts = ["a" * number for number in range(1, 9)]
    assert len(set(map(str, await embedder.embed(texts, QUERY)))) == 8


async def test_failures_are_not_remembered(embedder, model):
    """EM-4: what has no vector fails again, by itself."""
    for _ in range(2):
        good, bad = await embedder.embed(["good", ""], QUERY)
        assert isinstance(bad, UnreadableText)
        assert not isinstance(good, Exception)
    assert model.computed == [("good", QUERY)]


async def test_no_text_is_kept(embedder):
    """EM-1: the embedder stays without texts of its callers."""
    await embedder.embed(["канарейка"], QUERY)
    assert "канарейка" not in str(vars(embedder)["_known"])


async def test_it_can_be_switched_off(model):
    made = CachingEmbedder(model, cached_queries=0)
    made.start()
    await made.embed(["one"], QUERY)
    await made.embed(["one"], QUERY)
    await made.close()
    assert len(model.computed) == 2
