"""Which word before a number tells what it is: the nearest decides."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

CARD, INN, PASSPORT, PHONE, SNILS = "card", "inn", "passport_rf", "phone", "snils"
OTHER = "other"
"""Says that it is a number of something else: an order, a build, a moment."""

_REACH = 48
_KNOWN_WORDS = 20_000
# Where a word begins within a name: `orderId`. In snake case words are parted anyway.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-zа-я]+|[#№](?=\s?$)")
# Words that take their meaning from the one before them: `order number`, `tax id`.
_WEAK = re.compile(r"номер[а-я]{0,3}|numbers?|no|id|ид|нр")

_WORDS = {
    INN: "инн inn tin vat tax",
    CARD: "карта карты карте карту картой картою card cards pan creditcard bankcard",
    OTHER: (
        "ид время порт порта сумма сумму цена итого размер байт счет счета счету счете счетом хеш id uid uuid guid iid "
        "order orders ticket tickets task tasks invoice account accounts sku build builds version release timestamp ts "
        "epoch unix commit commits issue issues trace span offset bytes size lot tracking isbn ean barcode serial imei "
        "contract seed hash port price total sum reference case part # №"
    ),
    PHONE: "тел моб смс tel cell call fax sms wa no number numbers",
}
_STEMS = {
    SNILS: "снилс snils страхов пенсионн",
    INN: "taxpayer налогоплательщик",
    PASSPORT: "паспорт загранпаспорт passport",
    CARD: "карточк visa mastercard",
    OTHER: (
        "заказ заявк тикет задач инвойс накладн артикул сборк верси релиз коммит серийн инвентарн регистрационн учетн "
        "порядков трек договор идентификатор смещени штрихкод парти полис"
    ),
    PHONE: (
        "телефон phone telephone cellphone мобил mobile сотов звон позвон перезвон созвон дозвон набер контакт contact "
        "вотсап воцап ватсап вайбер телеграм whats viber telegram факс msisdn пиши напиши номер"
    ),
}
_BY_WORD = {word: category for category, words in _WORDS.items() for word in words.split()}
_BY_STEM = {stem: category for category, stems in _STEMS.items() for stem in stems.split()}
_ALL_STEMS = tuple(_BY_STEM)


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
    words = _WORD.findall(_CAMEL.sub(" ", text).lower().replace("ё", "е"))
    for place in range(len(words) - 1, -1, -1):
        said = _told_by(words[place])
        if said:
            is_weak = place and _WEAK.fullmatch(words[place])
            return (_told_by(words[place - 1]) or said) if is_weak else said
    return ""


@lru_cache(_KNOWN_WORDS)
def _told_by(word: str) -> str:
    if word in _BY_WORD:
        return _BY_WORD[word]
    if not word.startswith(_ALL_STEMS):
        return ""
    return next(category for stem, category in _BY_STEM.items() if word.startswith(stem))
