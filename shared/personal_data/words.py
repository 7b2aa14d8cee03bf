"""Which word before a number tells what it is: the nearest decides."""

from __future__ import annotations

import re
from typing import NamedTuple

CARD, INN, PASSPORT, PHONE, SNILS = "card", "inn", "passport_rf", "phone", "snils"
OTHER = "other"
"""Says that it is a number of something else: an order, a build, a moment."""

_REACH = 48
# Where a word begins within a name: `orderId`.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# A word of Latin letters counts alone or as a part of a name in snake case: `user_id`.
_LATIN, _CYRILLIC = r"(?<![a-z])(?:{})(?![a-z])", r"(?<![а-яё])(?:{})(?![а-яё])"


def _alone(latin: str, cyrillic: str = "") -> str:
    return "|".join([_LATIN.format(latin), *([_CYRILLIC.format(cyrillic)] if cyrillic else [])])


_NUMBERS_OF = (
    "заказ|заявк|тикет|задач|инвойс|накладн|артикул|сборк|верси|релиз|коммит|серийн|инвентарн|регистрационн|уч[её]тн|"
    "порядков|трек|договор|идентификатор|смещени|штрихкод|парти|полис"
)
_NAMES_OF = (
    "(?:purchase[ _-])?orders?|ticket|task|invoice|account|sku|build|version|release|timestamp|ts|epoch|unix|commit|"
    "issue|trace|span|offset|bytes|size|lot|tracking|isbn|ean|barcode|serial|imei|contract|seed|hash|port|price|total|"
    "reference|case|part|[iu]?u?id"
)
_SPOKEN = {
    SNILS: rf"снилс|страхов\w* номер\w*|пенсионн\w* (?:номер|страх)\w*|{_alone('snils')}",
    INN: rf"налогоплательщик\w*|{_alone('inn|tin|vat|tax(?:payer)?(?:[ _-]?(?:id|number|no))?', 'инн')}",
    PASSPORT: r"(?:загран)?паспорт\w*|passport",
    CARD: rf"карт[аеуыой]\w*|visa|mastercard|{_alone('(?:credit|debit|bank)?_?card(?:[ _-]?(?:number|no))?|pan')}",
    # Before phones: a number of something is no phone's.
    OTHER: rf"(?:{_NUMBERS_OF})\w*(?:[ -]?номер\w*)?|{_alone(f'(?:{_NAMES_OF})(?:[ _-]?(?:number|no))?')}"
    rf"|{_alone('sum', 'ид|время|порт|сумма|цена|итого|размер|байт|сч[её]т[ауе]?|хеш')}|[#№](?=\s?$)",
    PHONE: r"тел(?:ефон\w*|\.|(?![а-яё]))|phone|моб(?:ил\w*|\.|(?![а-яё]))|mobile|сотов\w*|звон\w*|контакт\w*|contact"
    r"|вот?сап\w*|ватсап\w*|вайбер\w*|телеграм\w*|whats ?app|wa\.me|viber|telegram|факс\w*|msisdn|пиши\w*|набер\w*"
    rf"|{_alone('tel|cell|call|fax|sms|number', 'смс|номер[уе]?|номером')}",
}
_WORDS = re.compile("|".join(f"(?P<{category}>{words})" for category, words in _SPOKEN.items()), re.IGNORECASE)


class Around(NamedTuple):
    """What stands around a text, and may tell what its numbers are; nothing is found in it."""

    before: str = ""
    """What it goes on from, such as the key of a JSON member: counts as the text does."""
    context: str = ""
    """What it is about, such as a title: says what something is, not that it is something else."""


NOTHING = Around()


def nearest(text: str, start: int, around: Around = NOTHING) -> str:
    """What the last telling word before a place in a folded text says: a category, `other`, or nothing."""
    before = text[max(0, start - _REACH) : start]
    if start < _REACH and around.before:
        before = around.before[-_REACH:] + before
    said = _last(before)
    if not said and around.context:
        said = _last(around.context[-_REACH:])
        return "" if said == OTHER else said
    return said


def _last(text: str) -> str:
    said = ""
    for found in _WORDS.finditer(_CAMEL.sub(" ", text)):
        said = found.lastgroup or ""
    return said
