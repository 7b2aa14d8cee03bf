"""Words that rules of verification know, in normal form, English and Russian."""

from __future__ import annotations

import re

_EMPTY = "a an the also и а же ведь вот также тоже"
EMPTY = frozenset(_EMPTY.split())
"""They change nothing of what is said. Not among them: words of time, direction, quantity and doubt, and every verb."""

CALENDAR = re.compile(
    r"january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:янв|сент|окт|но|дек)[ая]?бр[ьяе]|январ[ьяе]|феврал[ьяе]|март[ае]?|апрел[ьяе]|ма[йяе]|ию[нл][ьяе]|август[ае]?"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|(?:понедельник|вторник|четверг)[ае]?|(?:сред|пятниц|суббот)[аеуы]|воскресень[ея]"
)
"""Months and days of the week: another one in their place is another time."""

_NUMBERED = (
    "room issue ticket version page chapter step task number no item line build release section level floor flat "
    "комната комнате комнаты комнату номер номера заявка заявке заявки задача задаче задачи версия версии версию "
    "страница странице страницы глава главе главы шаг шаге пункт пункте строка строке сборка раздел разделе этаж дом "
    "квартира"
)
NUMBERED = frozenset(_NUMBERED.split())
"""What stands before a number that says which one, and not how much."""

_TAKES_BACK = (
    "if unless or but although though maybe perhaps probably possibly allegedly supposedly claims claimed says said "
    "thinks believes according planned plans except only until till when while would could might may should was were "
    "formerly previously "
    "если или либо но хотя возможно вероятно наверное якобы говорят говорит сказал сказала считает думает словам кроме "
    "только лишь пока когда бы был была было были планируется может должен должна раньше ранее прежде"
)
TAKES_BACK = frozenset(_TAKES_BACK.split())
"""What takes back or narrows what stands before it, as a negation does."""

_HELPS_NEGATE = "do does did longer больше"
HELPS_NEGATE = frozenset(_HELPS_NEGATE.split())
"""What comes and goes with a negation, and says nothing by itself."""
