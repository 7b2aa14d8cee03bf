"""What clients say: streams without an end, computed from a seed, so that any beginning of them can be said again.

Each item is a group of observations, or an act of an operator. All speak of few keys, so that writers meet; and each
also says something that nobody else does.
"""

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random

from palimpsest.v1.observation_pb2 import Assertion, Observation

from tests.integration.writing import article, at, claim, document, entity, fact, fact_id, link, observation
from tests.property.streams import FACT_IDS, FACTS, corrects

KEYS = ("person:a", "person:b", "person:c", "person:d", "X-42", "A-42", "note")
WORDS = ("tea", "cake", "rain", "bridge", "чай", "мост", "дождь", "письмо")
# Of a vault: so many names, of which each version has all but one.
FILES = 6
_MINUTES = 40


class Form(Enum):
    """How a group is sent."""

    SINGLES = "singles"
    BATCH = "batch"
    STREAM = "stream"


@dataclass(frozen=True)
class Group:
    """Observations that are sent together, and whether they are sent again when all is told."""

    form: Form
    observations: list[Observation]
    again: bool


def group(seed: int, client: str, item: int) -> Group:
    """The group of a number."""
    chosen = Random(f"{seed} {client} {item}")
    form = chosen.choice((Form.SINGLES, Form.SINGLES, Form.BATCH, Form.STREAM))
    count = chosen.randint(1, 2) if form is Form.SINGLES else chosen.randint(2, 8)
    said = [_observation(chosen, f"{client}-{item}-{number}") for number in range(count)]
    return Group(form, said, again=chosen.random() < 0.1)


def own_observation(seed: int, client: str, item: int) -> Observation:
    """What an operator records, to redact or archive it."""
    chosen = Random(f"{seed} {client} {item}")
    name = f"{client}-{item}"
    said = [
        fact(chosen.choice(KEYS), "HEARD", f"thing:{name}"),
        chosen.choice(FACTS),
        entity(f"topic:{name}", title=name),
    ]
    return observation(name, *said, minutes=chosen.randrange(_MINUTES), content=_text(chosen, name))


def write_vault(folder: Path, seed: int, version: int) -> None:
    """Gives a folder the Markdown files of a version: one name is left out, some texts are new, some as they were."""
    folder.mkdir(exist_ok=True)
    for number in range(FILES):
        path = folder / f"page-{number}.md"
        # Some texts last for two versions.
        chosen = Random(f"{seed} vault {number} {(version + number) // 2}")
        if number == version % FILES:
            path.unlink(missing_ok=True)
            continue
        text = f"# Page {number}\n\n{_text(chosen, f'page {number}')}\n\nSee [[page-{chosen.randrange(FILES)}]].\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        _at_its_time(path, number, version)


def _at_its_time(path: Path, number: int, version: int) -> None:
    """A file's time is part of what is said of it."""
    moment = at((version + number) // 2).seconds
    os.utime(path, (moment, moment))


def _observation(chosen: Random, name: str) -> Observation:
    said = [_assertion(chosen, name) for _ in range(chosen.choice((0, 1, 1, 2, 3)))]
    made = observation(name, *said, minutes=chosen.randrange(_MINUTES), content=_text(chosen, name))
    if chosen.random() < 0.2:
        # Recognised by all that it says.
        made.source.ClearField("external_id")
    return made


def _assertion(chosen: Random, name: str) -> Assertion:
    key, other = chosen.choice(KEYS), chosen.choice(KEYS)
    return chosen.choice(_ASSERTIONS)(chosen, name, key, other)


def _newer(chosen: Random, name: str, key: str, other: str) -> Assertion:
    """A fact in the place of another."""
    made = Assertion()
    made.CopyFrom(fact(key, "USES", f"tool:{name}"))
    made.fact.supersedes.append(fact_id(chosen.choice(FACTS)))
    return made


def _retracted(chosen: Random, name: str, key: str, other: str) -> Assertion:
    made = Assertion()
    made.retraction.fact_id = chosen.choice(FACT_IDS)
    made.retraction.valid_to.CopyFrom(at(chosen.randrange(_MINUTES)))
    return made


_ASSERTIONS = (
    lambda chosen, name, key, other: entity(f"thing:{name}", title=name),
    lambda chosen, name, key, other: entity(key, title=chosen.choice(WORDS), kind="page", source_id="42"),
    lambda chosen, name, key, other: fact(f"thing:{name}", "SEEN_BY", key),
    lambda chosen, name, key, other: fact(key, "KNOWS", f"person:{name}"),
    lambda chosen, name, key, other: chosen.choice(FACTS),
    _newer,
    _retracted,
    lambda chosen, name, key, other: corrects(chosen.choice(FACTS), chosen.choice(FACTS)),
    lambda chosen, name, key, other: link(key, "LINKS_TO", other),
    lambda chosen, name, key, other: claim(f"thing:{name}", "MENTIONS", "page", chosen.choice(("42", "7"))),
    lambda chosen, name, key, other: document(f"doc:{name}", _text(chosen, name), _text(chosen, name)),
    lambda chosen, name, key, other: article(
        other, f"# {chosen.choice(WORDS)}\n\n{_text(chosen, 'shared')}", title="T"
    ),
)


def _text(chosen: Random, name: str) -> str:
    return f"{name} " + " ".join(chosen.choices(WORDS, k=chosen.randint(3, 12)))
