"""Precision and recall of what is found of personal data, by category, on a generated set; and how fast it is found.

    python -m bench.personal_data [--each 4000] [--seed 1] [--misses] [--speed]

The set (`personal_samples.py`) has check digits, forms and sentences of its own. Near misses hold nothing: numbers with
a wrong check digit, versions, ids, moments, hashes, addresses of machines, prices, orders.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import NamedTuple

from bench.personal_samples import POSITIVE, email, moment, near_misses, order, phone, positives
from shared.personal_data.detector import find

_WORDS = ("система", "память", "агент", "задача", "проект", "commit", "deploy", "note", "user", "service", "отчёт")


class Score(NamedTuple):
    """What came of a category: numbers of texts."""

    positives: int
    found: int
    """In which the whole value was found as of the category."""
    masked: int
    """In which it was found as of any."""
    near_misses: int
    false: int
    """Near misses in which anything was found."""

    @property
    def recall(self) -> float:
        """Share of the positives that were found."""
        return self.found / self.positives

    @property
    def precision(self) -> float:
        """Share of positives in all that was found."""
        return self.found / max(1, self.found + self.false)


def score(category: str, each: int, seed: int, wrong: list[str] | None = None) -> Score:
    """Looks for a category in so many positives and near misses; `wrong` gets what went wrong, in words."""
    rng, wrong = random.Random(f"{seed} {category}"), [] if wrong is None else wrong
    found = masked = false = 0
    for sample in positives(category, each, rng):
        start = sample.text.index(sample.value)
        covering = [one for one in find(sample.text) if one.start <= start and one.end >= start + len(sample.value)]
        masked += bool(covering)
        found += any(one.category == category for one in covering)
        wrong += [] if covering else [f"lost  {category:12}{sample.text}"]
    for sample in near_misses(category, each, rng):
        pieces = find(sample.text)
        false += bool(pieces)
        wrong += [f"false {pieces[0].category:12}{sample.text}"] if pieces else []
    return Score(each, found, masked, each, false)


def speed(seed: int) -> None:
    """Microseconds of the processor a KiB: of texts with nothing, with much, and made to be slow."""
    rng = random.Random(seed)
    makers = (phone, email, order, moment)
    words = [rng.choice(_WORDS) if rng.random() < 0.93 else rng.choice(makers)(rng) for _ in range(20_000)]
    texts = {
        "prose": " ".join(rng.choice(_WORDS) for _ in range(20_000)),
        "prose, 1 in 28 words personal": " ".join(words),
        "phones": "+7 916 123-45-67 " * 5_000,
        "single digits": "1 2 3 4 5 6 7 8 9 0 " * 10_000,
        "digits": "9" * 200_000,
        "pairs of digits": "12-34 56 " * 20_000,
        "at signs": "a@" * 100_000,
        "dots": "a." * 100_000 + "@",
        "domains": "@" + "a." * 100_000,
        "dashes": "8-916-" * 30_000,
        "brackets": "((((8" * 40_000,
        "spaces": " " * 200_000,
    }
    for name, text in texts.items():
        began = time.process_time()
        count = len(find(text))
        spent_us = (time.process_time() - began) * 1e6
        print(f"{name:30} {spent_us / (len(text.encode()) / 1024):9.1f} µs/KiB {count:6} found")


def main() -> None:
    parser = argparse.ArgumentParser(description="precision and recall of personal data")
    parser.add_argument("--each", type=int, default=4_000, help="positives, and as many near misses, of a category")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="print some of what was lost or wrongly found")
    parser.add_argument("--speed", action="store_true", help="measure the time too")
    options = parser.parse_args()
    wrong: list[str] = []
    print(f"{'category':12} positives recall masked near misses false precision")
    for category in POSITIVE:
        one = score(category, options.each, options.seed, wrong)
        shares = f"{one.recall:6.4f} {one.masked / one.positives:6.4f} {one.near_misses:11} {one.false:5}"
        print(f"{category:12} {one.positives:9} {shares} {one.precision:9.4f}")
    if options.misses:
        print(*sorted(random.Random(0).sample(wrong, min(60, len(wrong)))), sep="\n")
    if options.speed:
        speed(options.seed)


if __name__ == "__main__":
    main()
