"""Questions with what is known of them: read from a file, or made of what is stored."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.client import Client
from palimpsest.v1.reader_service_pb2 import ListChunksRequest, ListEntitiesRequest
from palimpsest.v1.reference_pb2 import EntityRef

from cli.failure import ExitCode, Failure
from cli.pages import items_of

# As many entities as one search can be narrowed to.
_FIELD = 100
_ENTITIES = 5_000
_WORDS = 6
_SHORTEST_WORD = 4
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+")


@dataclass(frozen=True)
class Question:
    """A question, and whether what is searched holds its answer."""

    text: str
    is_answerable: bool
    entity_keys: tuple[str, ...] = ()
    """The entities that are searched; empty: all."""


def labelled(file: Path, namespace: str) -> list[Question]:
    """The questions of a file of JSON lines with `text` and `answerable`; those of other namespaces are left out."""
    questions = []
    for number, row in _rows(file):
        if not isinstance(row.get("text"), str) or not isinstance(row.get("answerable"), bool):
            raise Failure(f"{file}, line {number}: needs `text`, a string, and `answerable`, a boolean", ExitCode.USAGE)
        if row.get("namespace", namespace) == namespace:
            questions.append(Question(row["text"], row["answerable"]))
    return questions


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _row(file, number, line)
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file}: {error}", ExitCode.USAGE) from None


def _row(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise Failure(f"{file}, line {number}: is no JSON object", ExitCode.USAGE)
    return row


def sampled(client: Client, namespace: str, number: int, seed: int) -> list[Question]:
    """Words of a sentence of each of so many stored texts, asked twice: of a field that holds the text, and of one that
    does not. The fields are other entities of the namespace, of one size.
    """
    rng = random.Random(seed)
    request = ListEntitiesRequest(namespace=namespace)
    keys = [entity.natural_key for entity in items_of(client.reader.ListEntities, request, "entities", _ENTITIES)]
    questions: list[Question] = []
    for key in rng.sample(keys, len(keys)):
        if len(questions) == 2 * number:
            break
        text = _words(_text(client, namespace, key), rng)
        others = [other for other in rng.sample(keys, min(len(keys), _FIELD + 1)) if other != key][:_FIELD]
        if text and len(others) > 1:
            questions.append(Question(text, True, (key, *others[1:])))
            questions.append(Question(text, False, tuple(others)))
    return questions


def _text(client: Client, namespace: str, key: str) -> str:
    request = ListChunksRequest(namespace=namespace, entity=EntityRef(key=key), page_size=1)
    chunks = client.reader.ListChunks(request).chunks
    return chunks[0].text if chunks else ""


def _words(text: str, rng: random.Random) -> str:
    """A few longer words of one sentence, as of somebody who half remembers it; empty where it has too few."""
    sentences = [_longer(sentence) for sentence in _SENTENCE.findall(text)]
    fit = [words for words in sentences if len(words) >= _WORDS // 2]
    if not fit:
        return ""
    words = rng.choice(fit)
    chosen = sorted(rng.sample(range(len(words)), min(_WORDS, len(words) - 1)))
    return " ".join(words[place] for place in chosen)


def _longer(sentence: str) -> list[str]:
    return [word for word in _WORD.findall(sentence) if len(word) >= _SHORTEST_WORD]
