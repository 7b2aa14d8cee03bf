"""Vectors of texts, computed once, so that it is the store that is timed; others are asked for over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

DIMENSION = 384


def write(folder: Path, vectors: Mapping[str, Sequence[float]]) -> None:
    """Keeps them in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(list(vectors)))
    numbers = array("f")
    for vector in vectors.values():
        numbers.extend(vector)
    (folder / "vectors.f32").write_bytes(numbers.tobytes())


class KnownTexts:
    """The vectors of a folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self._url = url
        numbers = array("f")
        numbers.frombytes((folder / "vectors.f32").read_bytes())
        texts = json.loads((folder / "texts.json").read_text())
        self._known = {
            text: numbers[place * DIMENSION : (place + 1) * DIMENSION].tolist() for place, text in enumerate(texts)
        }

    def embed(self, text: str) -> list[float]:
        """The vector of a text."""
        vector = self._known.get(text)
        if vector is None:
            vector = self._known[text] = self._ask(text)
        return vector

    def embed_otherwise(self, text: str) -> list[float]:
        """The vector by a model that orders its numbers the other way: as good a space, and another."""
        return self.embed(text)[::-1]

    def _ask(self, text: str) -> list[float]:
        body = json.dumps({"input": [text], "model": "known"}).encode()
        request = urllib.request.Request(f"{self._url}/embeddings", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                found: list[float] = json.loads(answer.read())["data"][0]["embedding"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"the model refuses it: {json.loads(error.read())['error']['message']}") from None
        return found
