"""Answers, packs, and what the packs say of each sentence: golden cases of verification (RE-15)."""

from __future__ import annotations

from dataclasses import dataclass, field

S, C, N = "SUPPORTED", "CONTRADICTED", "NOT_IN_MEMORY"


@dataclass(frozen=True)
class Case:
    """A pack's texts by number from 1, an answer, and the verdict on each of its sentences."""

    name: str
    pack: list[str]
    answer: str
    verdicts: list[str]
    quotes: list[str] = field(default_factory=list)
    """What is quoted for each; empty: not looked at."""


GATEWAY = "The gateway retries 3 times and was restarted on 7 August 2026."
SHLUZ = "Шлюз перезапустили 7 августа 2026 года. Его владелец — команда платформы."

CASES = [
    # --- Said as it stands -------------------------------------------------------------------------------------------
    Case("verbatim", ["Alice works on alpha."], "Alice works on alpha.", [S], ["Alice works on alpha"]),
    Case("verbatim, Russian", ["Алиса работает над альфой."], "Алиса работает над альфой.", [S]),
    Case("without the full stop", ["Alice works on alpha."], "Alice works on alpha", [S]),
    Case("case and marks", ["Alice works on ALPHA!"], "alice works on alpha.", [S]),
    Case("yo and no-break space", ["Ёж перешёл\u00a0шлюз."], "Еж перешел шлюз.", [S], ["Ёж перешёл\u00a0шлюз"]),
    Case("articles", ["Gateway was restarted after a leak."], "The gateway was restarted after the leak.", [S]),
    Case("endings", ["The gateway retries failed calls."], "The gateway retried failing calls.", [S]),
    Case("endings, Russian", ["Шлюз повторяет неудачные запросы."], "Шлюз повторял неудачные запросы.", [S]),
    Case("the second sentence of an item", [SHLUZ], "Его владелец — команда платформы.", [S]),
    Case("the second item", ["Lunch is at noon.", "Alice works on alpha."], "Alice works on alpha.", [S]),
    Case("a fact with its interval", ["alice works on alpha (since 2026-08-01)"], "Alice works on alpha.", [S]),
    Case(
        "a clause that takes nothing back", ["Alice works on alpha, together with Bob."], "Alice works on alpha.", [S]
    ),
    Case("several sentences", ["Alice works on alpha. Bob left."], "Alice works on alpha. Bob left.", [S, S]),
    Case("a negation as it is told", ["Alice never works on alpha."], "Alice never works on alpha.", [S]),
    Case("a number as it is told", [GATEWAY], GATEWAY, [S]),
    # --- Markdown ----------------------------------------------------------------------------------------------------
    Case("a list", ["Alice works on alpha.", "Bob left."], "- Alice works on alpha\n- Bob left\n", [S, S]),
    Case("a numbered list", ["Alice works on alpha."], "1. Alice works on alpha.\n2. Bob left.", [S, N]),
    Case("bold and a citation", ["Alice works on alpha."], "**Alice** works on `alpha` [1].", [S]),
    Case("a heading says nothing", ["Alice works on alpha."], "# Summary\n\nAlice works on alpha.", [N, S]),
    Case("a link", ["Alice works on alpha."], "Alice works on [alpha](https://example.com/2024).", [S]),
    Case("marks in the item", ["## Team\n\n* **Alice** works on alpha."], "Alice works on alpha.", [S]),
    Case("a table", ["Alice works on alpha."], "| who | where |\n| --- | --- |\n| Alice | beta |", [N, N]),
    Case("a quotation in the item", ["Bob wrote:\n> The gateway is down."], "The gateway is down.", [N]),
    # --- Numbers and dates -------------------------------------------------------------------------------------------
    Case(
        "another number",
        ["The gateway retries 3 times."],
        "The gateway retries 5 times.",
        [C],
        ["The gateway retries 3 times"],
    ),
    Case("another number, Russian", ["Шлюз делает 3 попытки."], "Шлюз делает 5 попыток.", [C]),
    Case("another date", ["The gateway was restarted on 2026-08-07."], "The gateway was restarted on 2026-08-08.", [C]),
    Case("another day", ["Шлюз перезапустили 7 августа."], "Шлюз перезапустили 8 августа.", [C]),
    Case("another month", ["Шлюз перезапустили 7 августа."], "Шлюз перезапустили 7 сентября.", [C]),
    Case("another month, English", ["The launch is in March."], "The launch is in April.", [C]),
    Case("another weekday", ["Встреча команды пройдёт в среду."], "Встреча команды пройдёт в пятницу.", [C]),
    Case("another share", ["Disk usage is 75%."], "Disk usage is 57%.", [C]),
    Case("another sign", ["The balance is -5."], "The balance is 5.", [C]),
    Case("a longer number", ["The gateway retries 3 times."], "The gateway retries 30 times.", [C]),
    Case("a number more", ["The gateway retries."], "The gateway retries 3 times.", [N]),
    Case("a number less", ["The gateway retries 3 times."], "The gateway retries times.", [N]),
    Case("another room is another thing", ["Room 101 is booked."], "Room 102 is booked.", [N]),
    Case("another ticket is another thing", ["INV-77 was closed."], "INV-78 was closed.", [N]),
    Case("another version is another thing", ["The bug is in version 3."], "The bug is in version 4.", [N]),
    Case("another identifier", ["The gateway runs on host-a1."], "The gateway runs on host-a2.", [N]),
    Case(
        "said by one item and otherwise by another",
        ["The gateway retries 5 times.", "The gateway retries 3 times."],
        "The gateway retries 3 times.",
        [S],
        ["The gateway retries 3 times"],
    ),
    # --- Names -------------------------------------------------------------------------------------------------------
    Case("swapped names", ["Alice manages Bob."], "Bob manages Alice.", [N]),
    Case("swapped names, Russian", ["Алиса руководит Борисом."], "Борис руководит Алисой.", [N]),
    Case("another subject", ["Alice works on alpha."], "Bob works on alpha.", [N]),
    Case("another object", ["Alice works on alpha."], "Alice works on Beta.", [N]),
    Case("a name and its surname", ["Иван ушёл из команды."], "Иванов ушёл из команды.", [N]),
    Case("a surname of another ending", ["Команду покинул Иванов."], "Команду покинула Иванова.", [N]),
    Case("Tigran is not Iran", ["Тигран подписал договор."], "Иран подписал договор.", [N]),
    Case("words of one stem, and names", ["The talk was about Organs."], "The talk was about Organization.", [N]),
    Case("from and to", ["The gateway moved from alpha to beta."], "The gateway moved from beta to alpha.", [N]),
    # --- Negation ----------------------------------------------------------------------------------------------------
    Case("negated", ["Alice works on alpha."], "Alice does not work on alpha.", [C], ["Alice works on alpha"]),
    Case("negated by contraction", ["Alice works on alpha."], "Alice doesn't work on alpha.", [C]),
    Case("negated, Russian", ["Алиса работает над альфой."], "Алиса не работает над альфой.", [C]),
    Case("no longer", ["Alice works on alpha."], "Alice no longer works on alpha.", [C]),
    Case("no longer, Russian", ["Алиса работает над альфой."], "Алиса больше не работает над альфой.", [C]),
    Case("the item denies it", ["Alice does not work on alpha."], "Alice works on alpha.", [C]),
    Case("the item denies it, Russian", ["Алиса не работает над альфой."], "Алиса работает над альфой.", [C]),
    Case("negated twice is not told", ["Nobody but Alice works on alpha."], "Alice works on alpha.", [N]),
    Case("a negation behind", ["Alice works on alpha, but not any more."], "Alice works on alpha.", [N]),
    # --- More and less than is said ----------------------------------------------------------------------------------
    Case(
        "a part out of its condition",
        ["If the deploy fails, the gateway is restarted."],
        "The gateway is restarted.",
        [N],
    ),
    Case("what somebody thinks", ["Bob thinks that Alice works on alpha."], "Alice works on alpha.", [N]),
    Case("what is claimed behind", ["Alice works on alpha, or so Bob claims."], "Alice works on alpha.", [N]),
    Case("what is wanted", ["Alice wants to move the gateway."], "Alice moved the gateway.", [N]),
    Case("a condition behind", ["Шлюз перезапускают, если падает деплой."], "Шлюз перезапускают.", [N]),
    Case("a question in the item", ["Alice works on alpha?"], "Alice works on alpha.", [N]),
    Case("a question in the answer", ["Alice works on alpha."], "Does Alice work on alpha?", [N]),
    Case("a word more", ["Alice works on alpha."], "Alice works on alpha alone.", [N]),
    Case("always is not sometimes", ["Алиса всегда опаздывает."], "Алиса иногда опаздывает.", [N]),
    Case("before is not after", ["Шлюз перезапустили после деплоя."], "Шлюз перезапустили до деплоя.", [N]),
    Case("is is not was", ["The gateway is down."], "The gateway was down.", [N]),
    Case("a paraphrase", ["Alice works on alpha."], "Alpha is what Alice spends her days on.", [N]),
    Case("a translation", ["Alice works on alpha."], "Алиса работает над альфой.", [N]),
    Case(
        "two items in one sentence",
        ["Alice works on alpha.", "Bob works on beta."],
        "Alice works on alpha and Bob works on beta.",
        [N],
    ),
    Case("half an item", ["Alice works on alpha in the office of Bob."], "Alice works on alpha in the office.", [N]),
    Case("an opinion", ["Alice works on alpha."], "That is good news.", [N]),
    # --- Edges -------------------------------------------------------------------------------------------------------
    Case("an empty pack", [], "Alice works on alpha.", [N]),
    Case("nothing but marks", ["Alice works on alpha."], "... !!! ---", []),
    Case("blank", ["Alice works on alpha."], " \n\t ", []),
    Case("an emoji", ["Alice works on alpha."], "👍", []),
    Case(
        "initials and abbreviations",
        ["Alice met Dr. A. Smith in St. Petersburg."],
        "Alice met Dr. A. Smith in St. Petersburg.",
        [S],
    ),
    Case(
        "abbreviations, Russian",
        ["Договор от 5 мая 2026 г. подписан А. С. Пушкиным."],
        "Договор от 5 мая 2026 г. подписан А. С. Пушкиным.",
        [S],
    ),
    Case("decimals and versions", ["Version 1.2.3 needs 2.5 GB."], "Version 1.2.3 needs 2.5 GB.", [S]),
    Case("an ellipsis", ["Alice left… Bob stayed."], "Alice left… Bob stayed.", [S, S]),
]
