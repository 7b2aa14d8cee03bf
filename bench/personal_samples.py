"""Texts that hold personal data, and near misses that hold none, made at random. No code of the detectors is in it."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

Make = Callable[[random.Random], str]


class Sample(NamedTuple):
    """A text, and what it holds; nothing in a near miss."""

    text: str
    value: str = ""
    kind: str = ""


# ---- values

_MOBILE = (900, 903, 905, 906, 909, 910, 912, 915, 916, 917, 921, 925, 926, 929, 950, 951, 960, 962, 964, 967, 977, 999)
_CITIES = (495, 499, 812, 343, 383, 831, 846, 863, 351, 347, 391, 473, 861, 423, 395)
_NEW_YORK = ("212", "415", "646", "312")
_FIRST = ("ivan", "petr", "anna", "maria", "alex", "john", "olga", "sergey", "info", "sales", "j.smith", "a.petrov")
_LAST = ("petrov", "ivanova", "smith", "brown", "kuznetsov", "orlova", "doe", "1985", "dev", "msk")
_DOMAINS = (
    "mail.ru",
    "yandex.ru",
    "gmail.com",
    "example.com",
    "corp.example.org",
    "bk.ru",
    "163.com",
    "sub.dept.company.co.uk",
    "uni-berlin.de",
    "проект.рф",
)
_REGIONS = (
    1,
    3,
    4,
    5,
    7,
    12,
    14,
    18,
    20,
    22,
    24,
    25,
    27,
    32,
    34,
    36,
    40,
    45,
    46,
    50,
    52,
    54,
    57,
    60,
    63,
    65,
    75,
    92,
    97,
)
_ISSUERS = (
    ("4", 16),
    ("51", 16),
    ("55", 16),
    ("2221", 16),
    ("2200", 16),
    ("2202", 16),
    ("34", 15),
    ("37", 15),
    ("62", 16),
)


def digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice(string.digits) for _ in range(count))


def grouped(value: str, sizes: Sequence[int], marks: Sequence[str]) -> str:
    """The digits in groups, with a mark before each but the first."""
    pieces, at = [], 0
    for size, mark in zip(sizes, ["", *marks], strict=True):
        pieces.append(mark + value[at : at + size])
        at += size
    return "".join(pieces)


def with_odd_characters(rng: random.Random, value: str) -> str:
    """Now and then the same in characters that look alike: no-break spaces, other dashes, full-width digits."""
    fate = rng.random()
    if fate < 0.06:
        return value.replace(" ", rng.choice(["\u00a0", "\u202f", "\u2009"]))
    if fate < 0.10:
        return value.replace("-", rng.choice(["\u2011", "\u2013", "\u2212"]))
    if fate < 0.12:
        return value.translate({ord("0") + number: 0xFF10 + number for number in range(10)})
    if fate < 0.14 and len(value) > 6:
        place = rng.randrange(2, len(value) - 2)
        return value[:place] + "\u200b" + value[place:]
    return value


def phone(rng: random.Random) -> str:
    code = rng.choice(_MOBILE if rng.random() < 0.75 else _CITIES)
    rest = rng.choice("2345679") + digits(rng, 6)
    a, b, c = rest[:3], rest[3:5], rest[5:]
    forms = (
        f"+7 {code} {a}-{b}-{c}",
        f"+7 ({code}) {a}-{b}-{c}",
        f"+7({code}){rest}",
        f"+7{code}{rest}",
        f"+7-{code}-{a}-{b}-{c}",
        f"+7 {code} {a} {b} {c}",
        f"+7.{code}.{a}.{b}.{c}",
        f"8 {code} {a} {b} {c}",
        f"8 ({code}) {a}-{b}-{c}",
        f"8({code}){a}-{b}-{c}",
        f"8-{code}-{a}-{b}-{c}",
        f"8{code}{rest}",
        f"7{code}{rest}",
        f"{code} {a}-{b}-{c}",
        f"({code}) {a}-{b}-{c}",
        f"{code}{rest}",
    )
    return rng.choice(forms)


def foreign_phone(rng: random.Random) -> str:
    three, two, city = rng.choice("23456789") + digits(rng, 2), digits(rng, 2), rng.choice(_NEW_YORK)
    forms = (
        f"+1 ({city}) {three}-{digits(rng, 4)}",
        f"({city}) {three}-{digits(rng, 4)}",
        f"+44 20 7{digits(rng, 3)} {digits(rng, 4)}",
        f"+49 30 {rng.choice('23456789')}{digits(rng, 6)}",
        f"+375 29 {rng.choice('1367')}{two}-{two}-{two}",
        f"+380 67 {three} {two} {two}",
        f"+33 6 {rng.choice('12')}{digits(rng, 1)} {two} {two} {two}",
    )
    return rng.choice(forms)


def email(rng: random.Random) -> str:
    local = rng.choice(_FIRST) + rng.choice(["", ".", "_", "-", "+"]) + rng.choice(_LAST) + rng.choice(["", "77"])
    return f"{local.title() if rng.random() < 0.1 else local}@{rng.choice(_DOMAINS)}"


def passport(rng: random.Random) -> str:
    region, year, number = rng.choice(_REGIONS), rng.choice([*range(97, 100), *range(25)]), digits(rng, 6)
    series = f"{region:02}{year:02}"
    forms = (
        f"{series[:2]} {series[2:]} {number}",
        f"{series} {number}",
        f"{series}{number}",
        f"{series} № {number}",
        f"{series[:2]} {series[2:]} №{number}",
        f"{series}-{number}",
        f"{series[:2]} {series[2:]} номер {number}",
    )
    return rng.choice(forms)


def snils_digits(rng: random.Random) -> str:
    account = str(rng.randrange(2_000_000, 999_999_999)).zfill(9)
    rest = sum(int(digit) * (9 - place) for place, digit in enumerate(account)) % 101
    return account + ("00" if rest == 100 else f"{rest:02}")


def as_snils(rng: random.Random, value: str) -> str:
    marks: Sequence[str] = rng.choice((("-", "-", " "), ("-", "-", "-"), (" ", " ", " "), ("", "", "")))
    return grouped(value, (3, 3, 3, 2), marks)


def snils(rng: random.Random) -> str:
    return as_snils(rng, snils_digits(rng))


def luhn_digit(value: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(value)):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return str(-total % 10)


def card_digits(rng: random.Random) -> str:
    prefix, length = rng.choice(_ISSUERS)
    body = prefix + digits(rng, length - 1 - len(prefix))
    return body + luhn_digit(body)


def as_card(rng: random.Random, value: str) -> str:
    sizes = (4, 6, 5) if len(value) == 15 else (4, 4, 4, 4)
    return grouped(value, sizes, [rng.choice([" ", "-", ""])] * (len(sizes) - 1))


def card(rng: random.Random) -> str:
    return as_card(rng, card_digits(rng))


def control(value: str, weights: Sequence[int]) -> str:
    return str(sum(int(digit) * weight for digit, weight in zip(value, weights, strict=True)) % 11 % 10)


def inn(rng: random.Random) -> str:
    region = f"{rng.randrange(1, 93):02}"
    if rng.random() < 0.6:
        body = region + digits(rng, 8)
        body += control(body, (7, 2, 4, 10, 3, 5, 9, 4, 6, 8))
        return body + control(body, (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8))
    body = region + digits(rng, 7)
    return body + control(body, (2, 4, 10, 3, 5, 9, 4, 6, 8))


# ---- sentences

SENTENCES = {
    "phone": (
        "Звоните по номеру {}",
        "мой телефон {}, пишите",
        "тел.: {}",
        "Контакт: {} (Анна)",
        "call me at {}",
        "Phone: {}.",
        "Перезвоните {} после обеда",
        "Мобильный {}; домашний не указан",
        "phone={}",
        '{{"phone": "{}"}}',
        "Клиент оставил тел {} и ушёл",
        "Факс/телефон: {}",
        "You can reach Anna on her mobile {}",
    ),
    "email": (
        "Пишите на {}",
        "почта: {}",
        "{}",
        "<{}>",
        "mailto:{}",
        "Отправлено {} вчера.",
        "contact {} for details",
        '{{"email":"{}"}}',
        "Анна ({}) ответила",
        "user={}&x=1",
        "e-mail {}, тел. нет",
        "«{}»",
    ),
    "passport_rf": (
        "паспорт {}",
        "Паспорт РФ: {}, выдан ОВД",
        "серия {}",
        "паспорт серии {}",
        "паспортные данные: {}",
        "passport {}",
        '{{"passport": "{}"}}',
        "Passport No. {}",
        "предъявил паспорт гражданина РФ {}",
        "удостоверение личности: паспорт, {}",
        "паспорт: серия и номер {} выдан 12.03.2010",
    ),
    "snils": (
        "СНИЛС {}",
        "снилс: {}",
        "SNILS {}",
        "Номер СНИЛС — {}",
        '{{"snils": "{}"}}',
        "Анна, СНИЛС {}, сотрудник",
        "{}",
        "страховой номер {}",
    ),
    "card": (
        "карта {}",
        "номер карты: {}",
        "Переведите на {} до пятницы",
        "card {}",
        "Pay with {} exp 12/27",
        '{{"card": "{}"}}',
        "Visa {}",
        "списано с карты {} вчера",
        "{}",
    ),
    "inn": (
        "ИНН {}",
        "ИНН: {}",
        "инн {} КПП 770801001",
        "INN {}",
        '{{"inn": "{}"}}',
        "Реквизиты: ИНН {}, БИК 044525225",
        "taxpayer id {}",
        "ИНН клиента — {}",
    ),
}
_WITHOUT_A_WORD = {"phone": ("Анна, {}", "{}", "Иванов И. И. {} (вечером)"), "inn": ("Анна, {}",)}
POSITIVE: dict[str, Sequence[Make]] = {
    "phone": (phone, phone, phone, phone, foreign_phone),
    "email": (email,),
    "passport_rf": (passport,),
    "snils": (snils,),
    "card": (card,),
    "inn": (inn,),
}


def positives(category: str, count: int, rng: random.Random) -> Iterator[Sample]:
    """Texts with one value each. Ten digits in a row are nobody's phone or taxpayer number without a word."""
    for _ in range(count):
        value = rng.choice(POSITIVE[category])(rng)
        is_ten_digits = len(value) == 10 and value.isdigit()
        is_alone = category in _WITHOUT_A_WORD and rng.random() < 0.15 and not is_ten_digits
        sentence = rng.choice(_WITHOUT_A_WORD[category] if is_alone else SENTENCES[category])
        if category != "email":
            value = with_odd_characters(rng, value)
        yield Sample(sentence.format(value), value, category)


# ---- near misses


def hexadecimal(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(count))


def version(rng: random.Random) -> str:
    parts = ".".join(str(rng.randrange(40)) for _ in range(rng.choice([3, 4])))
    tail = rng.choice(["", "-rc.1", f"+build.{digits(rng, 8)}", f".{digits(rng, 8)}"])
    return rng.choice(["v", "version ", "версия ", "==", ""]) + parts + tail


def moment(rng: random.Random) -> str:
    y, mo, d = f"{rng.randrange(1990, 2030)}", f"{rng.randrange(1, 13):02}", f"{rng.randrange(1, 29):02}"
    h, mi, s = f"{rng.randrange(24):02}", f"{rng.randrange(60):02}", f"{rng.randrange(60):02}"
    forms = (
        f"{y}-{mo}-{d}T{h}:{mi}:{s}.{digits(rng, 6)}Z",
        f"{y}{mo}{d}{h}{mi}{s}",
        f"{y}{mo}{d}{h}{mi}",
        f"{d}.{mo}.{y} {h}:{mi}",
        f"{rng.randrange(10**9, 19 * 10**8)}",
        f"{rng.randrange(10**12, 19 * 10**11)}",
        f"{y}-{mo}-{d} {h}-{mi}-{s}",
        f"{y}/{mo}/{d} {h}:{mi}:{s},{digits(rng, 3)}",
    )
    return rng.choice(forms)


def address(rng: random.Random) -> str:
    v4 = ".".join(str(rng.randrange(256)) for _ in range(4))
    v6 = ":".join(hexadecimal(rng, 4) for _ in range(8))
    return rng.choice([v4, f"{v4}:{rng.randrange(1024, 65535)}", f"{v4}/24", v6])


_ORDERS = (
    "заказ ",
    "заказ № ",
    "order ",
    "Order #",
    "id ",
    "id=",
    "ticket ",
    "заявка ",
    "invoice ",
    "build ",
    "трек-номер ",
    "артикул ",
    "issue #",
    "user_id: ",
    "commit ",
    "offset ",
    "INV-",
    "REQ-",
    "SKU",
)


def order(rng: random.Random) -> str:
    return rng.choice(_ORDERS) + digits(rng, rng.choice([8, 9, 10, 11, 12, 13, 16]))


def price(rng: random.Random) -> str:
    number = f"{rng.randrange(10**3, 10**11):,}".replace(",", rng.choice([" ", "\u00a0"]))
    return f"{number} {rng.choice(['руб.', '₽', 'рублей', 'USD'])}"


def digest(rng: random.Random) -> str:
    uuid = "-".join(hexadecimal(rng, size) for size in (8, 4, 4, 4, 12))
    long, short = hexadecimal(rng, 64), hexadecimal(rng, 24)
    return rng.choice([long[:40], long[:12], f"sha256:{long}", uuid, f"obs-{short}"])


def measure(rng: random.Random) -> str:
    forms = (
        f"{rng.randrange(1, 99)}.{digits(rng, 10)}",
        f"{digits(rng, 3)}x{digits(rng, 4)}",
        f"{digits(rng, 7)}/{digits(rng, 7)} строк",
        f"0.{digits(rng, 12)}",
        f"1e{digits(rng, 2)}",
        f"{digits(rng, 4)}-{digits(rng, 4)}",
    )
    return rng.choice(forms)


COMMON: Sequence[Make] = (version, moment, address, order, price, digest, measure)


def other_digit(rng: random.Random, value: str, place: int) -> str:
    return value[:place] + rng.choice([each for each in string.digits if each != value[place]]) + value[place + 1 :]


def wrong_snils(rng: random.Random) -> str:
    return "СНИЛС " + as_snils(rng, other_digit(rng, snils_digits(rng), rng.choice([9, 10])))


def wrong_card(rng: random.Random) -> str:
    return rng.choice(["карта ", "card "]) + as_card(rng, other_digit(rng, card_digits(rng), 8))


def wrong_inn(rng: random.Random) -> str:
    value = inn(rng)
    return "ИНН " + other_digit(rng, value, len(value) - 1)


def wrong_phone(rng: random.Random) -> str:
    tail = f"{digits(rng, 3)}-{digits(rng, 2)}-{digits(rng, 2)}"
    forms = (
        f"телефон +7 {rng.choice('125')}{digits(rng, 2)} {tail}",
        f"телефон {digits(rng, 5)}",
        f"тел. 8 (1{digits(rng, 2)}) {tail}",
        f"+7 916 {digits(rng, 3)}-{digits(rng, 2)}",
        f"phone +1 (1{digits(rng, 2)}) {digits(rng, 3)}-{digits(rng, 4)}",
    )
    return rng.choice(forms)


def wrong_passport(rng: random.Random) -> str:
    forms = (
        f"заказ {passport(rng)}",
        f"серия 4{digits(rng, 2)} выпуск {digits(rng, 3)}",
        f"{digits(rng, 4)} {digits(rng, 6)}",
        f"паспорт изделия {digits(rng, 4)}",
        f"паспорт безопасности, версия {digits(rng, 2)}.{digits(rng, 2)}.{digits(rng, 6)}",
        f"паспорт качества № {digits(rng, 5)}",
        f"series {digits(rng, 2)}, episode {digits(rng, 2)}",
        f"полис {digits(rng, 4)} {digits(rng, 6)}",
        f"серия 00{digits(rng, 2)} номер {digits(rng, 6)}",
    )
    return rng.choice(forms)


def wrong_email(rng: random.Random) -> str:
    forms = (
        f"git@github.com:team/repo{digits(rng, 2)}.git",
        f"icon@{rng.choice('23')}x.png",
        f"lodash@4.17.{digits(rng, 2)}",
        f"@decorator.name{digits(rng, 1)}",
        f"user{digits(rng, 2)}@localhost",
        "ssh://git@gitlab.example.com/team/repo",
        f"https://user{digits(rng, 2)}@example.com/path",
        f"image@sha256:{hexadecimal(rng, 64)}",
        f"@ivan_{digits(rng, 3)}",
        f"name @ example . com {digits(rng, 2)}",
        f"pkg@^{digits(rng, 1)}.0.0-beta.1",
        f"react@18.{digits(rng, 1)}.0-rc.next",
        f"x@@example{digits(rng, 1)}",
        f"images.example/app@v{digits(rng, 1)}.2",
    )
    return rng.choice(forms)


WRONG: dict[str, Make] = {
    "phone": wrong_phone,
    "email": wrong_email,
    "passport_rf": wrong_passport,
    "snils": wrong_snils,
    "card": wrong_card,
    "inn": wrong_inn,
}
_AROUND = ("{}", "Смотри {} в журнале", "see {} for details", "Обновили {} вчера", '{{"value": "{}"}}', "{}, готово")


def near_misses(category: str, count: int, rng: random.Random) -> Iterator[Sample]:
    """Half of them wrong ones of the category, half of what any text has."""
    for number in range(count):
        make = WRONG[category] if number % 2 else rng.choice(COMMON)
        yield Sample(rng.choice(_AROUND).format(make(rng)), kind=make.__name__)
