"""Whether a text names something, in whichever letters: by whole words in normal form."""

import json
import re
from collections.abc import Collection, Iterator

from shared.normal_form import normal_form

_WORD = re.compile(r"\w+")
# Shorter names, and numbers, stand in many texts that are about something else.
_SHORTEST_NAME = 3


def words_of(*texts: str) -> str:
    """The words of texts in normal form, each between spaces. Empty where there is none."""
    words = [word for text in texts for word in _WORD.findall(normal_form(text))]
    return f" {' '.join(words)} " if words else ""


def names_of(keys: Collection[str], titles: Collection[str]) -> set[str]:
    """What entities may be named by in a text, as `words_of` has it: their keys, and, where these tell them from
    others, the ids in the keys, titles and aliases."""
    loose = {*(key.partition(":")[2] for key in keys), *titles}
    telling = {name for name in loose if len(name) >= _SHORTEST_NAME and any(map(str.isalpha, name))}
    return {words_of(name) for name in {*keys, *telling}} - {""}


def mentions(names: Collection[str], *texts: str) -> bool:
    """Whether one of `names_of` stands in one of the texts."""
    words = words_of(*texts)
    return any(name in words for name in names)


def texts_of_json(text: str) -> Iterator[str]:
    """All strings of a JSON text, names of members among them, and its numbers as they are written."""
    waiting = [json.loads(text, parse_int=str, parse_float=str)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
