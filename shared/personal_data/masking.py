"""Masks personal data in texts: what detectors find, and what was declared or found beside (PR-1)."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.json_text import is_too_deep
from shared.personal_data.detector import Found, find
from shared.personal_data.folding import fold
from shared.personal_data.words import NOTHING, Around

_LABELS = {"passport_rf": "passport"}
SHORTEST = "…"
"""What stands for a value that is shorter than the mask of its category."""
_TAG_DIGITS = 6
# What stands before a token of JSON tells what it is: keys, and values beside it.
_BEFORE_TOKEN = 96
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?[0-9][0-9.eE+-]*+', re.DOTALL)
_COLON = re.compile(r"\s*+:")
_SHORTEST_VALUE = 6
_SPACES = re.compile(r"\s+")
_E = re.compile("[её]", re.IGNORECASE)


def mask_of(category: str, length: int) -> str:
    """What stands in the place of a value of so many characters: `[phone]`. Never longer, so a budget that held the
    value holds its mask."""
    mask = f"[{_LABELS.get(category, category)}]"
    return mask if len(mask) <= length else SHORTEST[:length]


@dataclass
class Masking:
    """What one answer holds of personal data, and how it is masked.

    First `seek` in each of its texts, then `mask` each: a value that one text tells to be personal is masked in all.
    """

    secret: bytes = b""
    """By which values in identifiers are told apart without telling what they are."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """Values that were declared to be personal, with their categories."""
    found: Counter[str] = field(default_factory=Counter)
    """How many pieces were found, by category."""
    _pieces: dict[tuple[str, Around], Sequence[Found]] = field(default_factory=dict)
    _values: dict[str, str] = field(default_factory=dict)
    _everywhere: re.Pattern[str] | None = None
    _declared: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        if self.declared:
            longest_first = sorted(self.declared, key=lambda value: (-len(value), value))
            self._declared = re.compile("|".join(map(_verbatim, longest_first)), re.IGNORECASE)
            self._categories = {_plain(value): category for value, category in self.declared.items()}

    def seek(self, text: str, around: Around = NOTHING, *, is_json: bool = False) -> bool:
        """Counts what a text holds, and remembers its values. Whether there is any."""
        if len(text) < _SHORTEST_VALUE and not self._declared:
            return False
        before = self.found.total()
        if is_json or _looks_like_json(text):
            _each_token(text, lambda token, before, _: self._sought(token, _inside(around, before)))
        else:
            self._sought(text, around)
        return self.found.total() > before

    def mask(self, text: str, around: Around = NOTHING, *, is_json: bool = False, is_identifier: bool = False) -> str:
        """The text with masks in the place of values. JSON stays JSON; of an identifier different values have different
        masks, the same in every answer."""
        if is_json or _looks_like_json(text):
            return _each_token(
                text,
                lambda token, before, is_key: self._masked(token, _inside(around, before), is_key or is_identifier),
            )
        return self._masked(text, around, is_identifier)

    @property
    def is_needed(self) -> bool:
        """Whether anything was found in what was sought so far."""
        return self.found.total() > 0

    def _find(self, text: str, around: Around) -> Sequence[Found]:
        """What is found in a text; once, for who masks it has sought before."""
        pieces = self._pieces.get((text, around))
        if pieces is None:
            pieces = find(text, around)
            if pieces:
                self._pieces[text, around] = pieces
        return pieces

    def _sought(self, text: str, around: Around) -> str:
        for piece in self._find(text, around):
            self.found[piece.category] += 1
            value = text[piece.start : piece.end]
            if len(value) >= _SHORTEST_VALUE:
                self._values.setdefault(value, piece.category)
        if self._declared:
            self.found.update(self._categories[_plain(match[0])] for match in self._declared.finditer(text))
        return text

    def _masked(self, text: str, around: Around, is_identifier: bool) -> str:
        kept: list[str] = []
        position = 0
        for piece in self._find(text, around):
            kept += (
                text[position : piece.start],
                self._mask(piece.category, text[piece.start : piece.end], is_identifier),
            )
            position = piece.end
        text = "".join([*kept, text[position:]])
        if self._values:
            if self._everywhere is None:
                longest_first = sorted(self._values, key=lambda value: (-len(value), value))
                self._everywhere = re.compile("|".join(map(re.escape, longest_first)))
            text = self._everywhere.sub(lambda m: self._mask(self._values[m[0]], m[0], is_identifier), text)
        if self._declared:
            text = self._declared.sub(lambda m: self._mask(self._categories[_plain(m[0])], m[0], is_identifier), text)
        return text

    def _mask(self, category: str, value: str, is_identifier: bool) -> str:
        if not is_identifier:
            return mask_of(category, len(value))
        mac = hmac.new(self.secret, f"{category}\0{_same(category, value)}".encode(), hashlib.sha256)
        return f"[{_LABELS.get(category, category)}:{mac.hexdigest()[:_TAG_DIGITS]}]"


def _same(category: str, value: str) -> str:
    """What two ways to write one value have in common."""
    folded = fold(value).text.casefold()
    digits = "".join(filter(str.isdigit, folded))
    if category == "phone":
        return digits[-10:]
    return digits if category in ("card", "snils", "inn", "passport_rf") else _SPACES.sub(" ", folded)


def _plain(value: str) -> str:
    return _SPACES.sub(" ", value).casefold().replace("ё", "е")


def _verbatim(value: str) -> str:
    """An expression for a declared value: as a whole, in any case, its spaces of any kind and number."""
    words = r"\s+".join(_E.sub("[её]", re.escape(word)) for word in value.split())
    return rf"(?<!\w){words}(?!\w)"


def _looks_like_json(text: str) -> bool:
    """Whether a text is one JSON object or array."""
    if text[:1] not in ("{", "[") or text[-1:] not in ("}", "]") or is_too_deep(text):
        return False
    try:
        _DECODER.decode(text)
    except ValueError:
        return False
    return True


def _inside(around: Around, before: str) -> Around:
    """What stands around a token of JSON."""
    return Around(around.before + before, around.context)


def _each_token(text: str, changed: Callable[[str, str, bool], str]) -> str:
    """JSON with each string and number as `changed` has them, given with what stands before and whether it is a key;
    all else byte for byte. A number that changes becomes a string."""

    def rewritten(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - _BEFORE_TOKEN) : found.start()]
        value: str = json.loads(found[0]) if found[0][0] == '"' else found[0]
        now = changed(value, before, _COLON.match(text, found.end()) is not None)
        return found[0] if now == value else json.dumps(now, ensure_ascii=False)

    return _TOKEN.sub(rewritten, text)


# Numbers are not converted: their values don't matter here, and Python refuses integers of over 4,300 digits.
_DECODER = json.JSONDecoder(parse_int=len, parse_float=len)


def declared_values(categories: Iterable[str], title: str, aliases: Iterable[str], attributes: str) -> dict[str, str]:
    """What an entity declares to be personal, value by category: an attribute that is named as the category; for `fio`
    its title and aliases too."""
    wanted = {_name(category): category for category in categories}
    found: dict[str, str] = {}
    if "fio" in wanted:
        found |= dict.fromkeys((title, *aliases), "fio")
    for key, value in _members(attributes).items():
        category = wanted.get(_name(key))
        found |= dict.fromkeys(_texts(value), category) if category else {}
    return {value.strip(): category for value, category in found.items() if len(value.strip()) > 1}


def _members(attributes: str) -> dict[str, object]:
    """The members of a JSON object, numbers as they are written; none of what is no object."""
    try:
        value = json.loads(attributes or "{}", parse_int=str, parse_float=str)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _name(key: str) -> str:
    return key.casefold().replace("_", "").replace("-", "")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
