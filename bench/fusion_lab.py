"""What each part of the ranking formula is worth, offline: tries take seconds.

usage: python -m bench.fusion_lab DIR [--cache FOLDER] [--title people|dated] [--fit]

DIR holds `docs.jsonl.gz` and `queries.jsonl.gz`. Vectors are the bundled model's, lexemes the schema's; both are
computed once and kept in the cache. Prints recall@1, @10, @20 and nDCG@10 of the whole and of its two halves, for the
formula as it was, as it is, and with one thing changed; then the share of the evidence in a pack of whole passages.
Halves are of namespaces, or of the documents' titles where all questions are in few namespaces, so that no constant
need be judged by what it was chosen on. --fit chooses constants on each half and shows them on the other.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from bench import measures
from bench.generic_sentences import PAIRS
from bench.lab_corpus import LABELS, load, vectors
from bench.lab_ranking import CURRENT, Asked, Constants, Directions, asked, directions, scores
from services.embedder.backend import InputType

PACK_CHARS, ITEM_CHARS = 4_800, 60
FEW_NAMESPACES = 3
RANKED = 200
TRIES: dict[str, dict[str, float]] = {
    "without shift of the query": {"query_shift": 0.0},
    "without neighbours": {
        "neighbor": 0.0,
        "second_neighbor": 0.0,
        "third_neighbor": 0.0,
        "answer": 0.0,
        "stream": 0.0,
    },
    "without second neighbours": {"second_neighbor": 0.0},
    "without answers to questions": {"answer": 0.0},
    "without author": {"author": 0.0, "other_author": 1.0},
    "without gate by script": {"gate_other_script": 0.3},
    "without other authors": {"other_author": 1.0},
    "third neighbours": {"third_neighbor": 0.1},
    "without best of the stream": {"stream": 0.0},
    "without asking": {"asking": 1.0},
    "rarity for more": {"rarity_power": 1.5},
    "exact forms in full": {"exact_weight": 1.0},
    "words without coverage": {"coverage_power": 0.0},
    "words as they were": {"exact_weight": 1.0, "coverage_power": 0.0},
    "less of vectors": {"vector_weight": 0.4},
    "more of vectors": {"vector_weight": 0.6},
    "a wide gate": {"gate_same_script": 0.15},
    "a narrow gate": {"gate_same_script": 0.5},
}
GRID: dict[str, tuple[float, ...]] = {
    "neighbor": (0.0, 0.2, 0.3, 0.4, 0.5),
    "second_neighbor": (0.0, 0.1, 0.2, 0.3),
    "answer": (0.0, 0.25, 0.5, 0.75),
    "third_neighbor": (0.0, 0.1, 0.2),
    "stream": (0.0, 0.1, 0.2),
    "asking": (1.0, 0.9, 0.8),
    "author": (0.0, 0.1, 0.2, 0.3),
    "other_author": (1.0, 0.85, 0.7),
    "rarity_power": (1.0, 1.25, 1.5, 2.0),
    "vector_weight": (0.35, 0.4, 0.45, 0.5, 0.55, 0.6),
    "coverage_power": (0.0, 0.25, 0.5, 0.75),
    "exact_weight": (0.0, 0.5, 1.0),
    "query_shift": (0.0, 0.5, 0.65, 0.8),
    "gate_same_script": (0.15, 0.3, 0.5),
    "gate_other_script": (0.3, 0.5, 0.7, 1.0),
}
Measured = tuple[float, float, float, float]


def main() -> None:
    """Runs the lab from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "fusion-lab")
    parser.add_argument("--title", choices=LABELS, default="dated", help="title and heading of what is in no document")
    parser.add_argument("--fit", action="store_true", help="choose constants on each half too")
    options = parser.parse_args()
    corpus = load(options.folder, options.cache, LABELS[options.title])
    english, russian = (vectors(options.cache, list(column), InputType.QUERY) for column in zip(*PAIRS, strict=True))
    lab = Lab(asked(corpus), directions(english, russian))
    lab.print_header(corpus.name)
    lab.print_row("as it was", CURRENT)
    lab.print_row("as it is", Constants())
    for name, off in TRIES.items():
        lab.print_row(f"  {name}", replace(Constants(), **off))
    for name, constants in (("as it was", CURRENT), ("as it is", Constants())):
        print(f"evidence in a pack of {PACK_CHARS} characters, {name}: {lab.packed(constants)}")
    if options.fit:
        lab.print_fits()


class Lab:
    """The questions of a folder in halves."""

    def __init__(self, questions: Sequence[Asked], freed_of: Directions) -> None:
        self._questions = questions
        self._freed_of = freed_of
        self._halves = _halves(questions)
        self._categories = _categories(questions)

    def print_header(self, name: str) -> None:
        """Says what the columns are."""
        sizes = [int(np.sum(self._halves == half)) for half in (0, 1)]
        print(
            f"{name}: {len(self._questions)} questions, halves of {sizes}; R@1 / R@10 / R@20 / nDCG@10, whole | 0 | 1"
        )

    def print_row(self, label: str, constants: Constants) -> None:
        """Prints one formula, a line for each category."""
        table = self._table(constants)
        for category in sorted(set(self._categories)):
            inside = self._categories == category
            groups = [inside, inside & (self._halves == 0), inside & (self._halves == 1)]
            cells = [
                " / ".join(f"{value:.3f}" for value in table[group].mean(axis=0)) for group in groups if group.any()
            ]
            print(f"{label:32}{category:8}{' | '.join(cells)}", flush=True)

    def packed(self, constants: Constants) -> str:
        """Mean share of the relevant documents in a pack; the whole and each half."""
        shares = np.array([_packed(one, scores(one, constants, self._freed_of)) for one in self._questions])
        groups = [shares, shares[self._halves == 0], shares[self._halves == 1]]
        return " | ".join(f"{group.mean():.3f}" for group in groups if len(group))

    def print_fits(self) -> None:
        """Chooses constants on each half, by one walk over the grid, and prints them with what they give."""
        for half in (0, 1):
            chosen = self._fitted(half)
            changed = {name: value for name, value in asdict(chosen).items() if value != asdict(Constants())[name]}
            self.print_row(f"fitted on half {half}", chosen)
            print(f"  {changed}")

    def _fitted(self, half: int) -> Constants:
        chosen, best = Constants(), self._worth(Constants(), half)
        for name, values in GRID.items():
            for value in values:
                tried = replace(chosen, **{name: value})
                worth = self._worth(tried, half)
                if worth > best:
                    chosen, best = tried, worth
        return chosen

    def _worth(self, constants: Constants, half: int) -> float:
        return float(self._table(constants)[self._halves == half].mean())

    def _table(self, constants: Constants) -> np.ndarray:
        return np.array([_measured(one, scores(one, constants, self._freed_of)) for one in self._questions])


def _measured(one: Asked, values: np.ndarray) -> Measured:
    order = np.argsort(-values, kind="stable")[:RANKED]
    ranked = list(dict.fromkeys(one.space.passages[place].document for place in order))
    recalls = [measures.recall_at(ranked, one.relevant, cutoff) for cutoff in (1, 10, 20)]
    return recalls[0], recalls[1], recalls[2], measures.ndcg_at(ranked, one.relevant, 10)


def _packed(one: Asked, values: np.ndarray) -> float:
    left, inside = PACK_CHARS, set()
    for place in np.argsort(-values, kind="stable")[:RANKED]:
        cost = len(one.space.passages[place].text) + ITEM_CHARS
        if cost <= left:
            left -= cost
            inside.add(one.space.passages[place].document)
    return len(inside & one.relevant) / len(one.relevant)


def _halves(questions: Sequence[Asked]) -> np.ndarray:
    few = len({one.question.namespace for one in questions}) <= FEW_NAMESPACES
    group: Callable[[Asked], str] = _document_group if few else (lambda one: one.question.namespace)
    return np.array([hashlib.sha256(group(one).encode()).digest()[0] % 2 for one in questions])


def _document_group(one: Asked) -> str:
    """The title of the document that answers, or its id less the language at its end."""
    document = min(one.relevant)
    title = next(passage.title for passage in one.space.passages if passage.document == document)
    return title if sum(passage.title == title for passage in one.space.passages) < len(one.space.passages) else (
        document.rpartition("-")[0]
    )  # fmt: skip


def _categories(questions: Sequence[Asked]) -> np.ndarray:
    """Only where questions and documents differ in language are categories of a kind that figures are asked for."""
    return np.array([one.question.category if "->" in one.question.category else "all" for one in questions])


if __name__ == "__main__":
    main()
