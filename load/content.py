"""What is said under load: messages, incidents, decisions and pages in Russian and English, from a seed alone.

Sentences are put together of parts, so that texts share words as texts of one team do, and few are equal. Every text is
about one topic; queries about a topic use other words for it, its identifiers, or both languages at once.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """What people talk about: a service, its names in both languages, and what happens to it."""

    key: str
    english: str
    russian: str
    """In the nominative; sentences are made so that it fits."""


TOPICS = (
    Topic("billing-gateway", "the billing gateway", "платёжный шлюз"),
    Topic("search-index", "the search index", "поисковый индекс"),
    Topic("mobile-login", "mobile login", "вход в мобильное приложение"),
    Topic("report-export", "report export", "выгрузка отчётов"),
    Topic("queue-worker", "the queue worker", "обработчик очереди"),
    Topic("image-resizer", "the image resizer", "сжатие изображений"),
    Topic("alert-router", "the alert router", "маршрутизация оповещений"),
    Topic("warehouse-sync", "warehouse sync", "обмен со складом"),
    Topic("session-cache", "the session cache", "кэш сессий"),
    Topic("deploy-pipeline", "the deploy pipeline", "конвейер выкладки"),
    Topic("mail-relay", "the mail relay", "почтовый шлюз"),
    Topic("feature-flags", "feature flags", "переключатели функций"),
)
PEOPLE = ("alice", "boris", "chen", "daria", "egor", "fatima", "gleb", "hanna", "ilya", "julia")

_ENGLISH = (
    "{people} saw that {topic} answered {number} requests with errors after the release of {version}.",
    "We agreed to keep {topic} on version {version} until {ticket} is closed.",
    "Timeouts of {topic} were raised from {small} to {number} ms, which stopped the retries.",
    "{people} owns {topic} now; questions go to the channel of {ticket}.",
    "The nightly run of {topic} takes {small} minutes since the table was partitioned.",
    "Nobody may restart {topic} by hand: the supervisor does it, see {ticket}.",
    "Memory of {topic} grew by {small} MB an hour, and a leak in the connection pool was the cause.",
    "Customers of the northern region could not use {topic} for {small} minutes.",
)
_RUSSIAN = (
    "{people}: {topic} после выкладки {version} отвечает ошибкой на {number} запросов.",
    "Решили: {topic} остаётся на версии {version}, пока не закрыта задача {ticket}.",
    "Подняли время ожидания с {small} до {number} мс, и {topic} больше не повторяет запросы.",
    "За {topic} теперь отвечает {people}, вопросы — в канале {ticket}.",
    "Ночной прогон ({topic}) занимает {small} минут с тех пор, как таблицу разбили на части.",
    "Вручную не перезапускать: {topic} поднимает супервизор, подробности в {ticket}.",
    "Память росла на {small} МБ в час: {topic} не возвращал соединения в пул.",
    "Клиенты северного региона {small} минут не могли работать: {topic} был недоступен.",
)
_ENGLISH_ASKED = (
    "who is responsible for {topic}?",
    "why did {topic} fail after the release",
    "what was decided about {topic} and its version",
    "memory leak {topic}",
    "how long does {topic} take at night",
)
_RUSSIAN_ASKED = (
    "кто отвечает: {topic}?",
    "почему после релиза падает {topic}",
    "что решили про версию, {topic}",
    "утечка памяти, {topic}",
    "сколько минут идёт ночью {topic}",
)
_OFF_TOPIC = ("how to boil pasta for six people", "погода в горах на выходных", "zxqv blorp фыва")


class Content:
    """A source of texts. The same seed and the same calls give the same texts."""

    def __init__(self, seed: int, purpose: str) -> None:
        self.random = random.Random(f"{seed} {purpose}")

    def topic(self) -> Topic:
        """One of the topics, some of which are talked of far more than others."""
        return self.random.choices(TOPICS, [1 / rank for rank in range(1, len(TOPICS) + 1)])[0]

    def person(self) -> str:
        """Somebody's id."""
        return self.random.choice(PEOPLE)

    def ticket(self) -> str:
        """An identifier, as queries and texts have it."""
        return f"{self.random.choice(('INV', 'OPS', 'ЗАЯВКА'))}-{self.random.randrange(100, 9_999)}"

    def sentence(self, topic: Topic) -> str:
        """A sentence about the topic, in either language."""
        is_russian = self.random.random() < 0.5
        return self.random.choice(_RUSSIAN if is_russian else _ENGLISH).format(
            topic=topic.russian if is_russian else topic.english,
            people=self.person().title(),
            number=self.random.randrange(100, 9_000),
            small=self.random.randrange(2, 90),
            version=f"{self.random.randrange(1, 9)}.{self.random.randrange(30)}",
            ticket=self.ticket(),
        )

    def text(self, topic: Topic, sentences: int) -> str:
        """So many sentences about the topic."""
        return " ".join(self.sentence(topic) for _ in range(sentences))

    def page(self, topic: Topic) -> str:
        """A page of a handbook, of several headings: what is cut into pieces."""
        headings = ("Overview", "Что сломалось", "Decisions", "Порядок действий")
        parts = [f"# {topic.english} / {topic.russian}"]
        parts += [f"## {heading}\n\n{self.text(topic, self.random.randrange(3, 8))}" for heading in headings]
        return "\n\n".join(parts)

    def query(self, mark: str) -> str:
        """A question: English, Russian, both, an identifier, a long paste, or about nothing that is known.

        `mark` goes into some of them, so that they are asked for the first time.
        """
        topic = self.topic()
        english = self.random.choice(_ENGLISH_ASKED).format(topic=topic.english)
        russian = self.random.choice(_RUSSIAN_ASKED).format(topic=topic.russian)
        kinds = {
            english: 24, russian: 24, f"{russian} {english}": 8, f"{english} {mark}": 14, f"{russian} {mark}": 14,
            self.ticket(): 5, f"{topic.key} {self.ticket()}": 5, f"{self.text(topic, 12)} {mark}": 3,
            self.random.choice(_OFF_TOPIC): 3,
        }  # fmt: skip
        return self.random.choices(list(kinds), list(kinds.values()))[0]
