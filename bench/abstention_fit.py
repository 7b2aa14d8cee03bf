"""Fits the weights by which the reader says "nothing relevant", for the bundled model, and tries them on other data.

usage: python -m bench.abstention_fit DIR... [--cache FILE]

Each DIR holds `docs.jsonl.gz` and `queries.jsonl.gz`. Documents are recorded by the RPCs and questions are asked by the
reader's own retrieval, so that the evidence is what it judges by. Documents with a title are dealt by it into two
namespaces: a question is asked where its article is, and where it is absent. Every question is asked of other stores,
too. Unanswerable questions that name look-alikes are about another person. Groups (articles, conversations, pages) are
in one of two halves: weights of one are tried on the other, both ways. Last come the weights of all, for
`services/reader/retrieval/tuning.py`. `--cache` keeps the evidence in a file, or takes it from there.
"""

import argparse
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.abstention_evidence import Asked, Kind, gather
from services.reader.retrieval import tuning
from services.reader.retrieval.abstention import Evidence

Matrix = npt.NDArray[np.float64]

RIDGE = 1e-5
STEPS = 60
LOST_SHARES = (0.01, 0.02, 0.05)
# Of a folder in all; of its unanswerable questions those of the same store and of others.
FOLDER_WEIGHTS = {True: 1.0, False: 0.5}
ABSENT_WEIGHTS = {Kind.ABSENT: 0.7, Kind.FOREIGN: 0.3}

FEATURES: dict[str, Callable[[Evidence], float]] = {
    "nearness": lambda one: one.cosines[0] * one.length if one.cosines else 0.0,
    "gap": lambda one: one.gap * one.length * (len(one.cosines) - 1) / (tuning.GAP_FIELD - 1),
    "coverage": lambda one: one.coverage or 0.0,
    "nearest_coverage": lambda one: one.nearest_coverage,
    "message": lambda one: float(one.is_message),
    "latin": lambda one: float(one.asked_in_latin),
    "about_asked": lambda one: 0.0 if one.about_asked is None else one.about_asked,
}
MODELS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "same_script": (False, ("nearness", "coverage", "nearest_coverage", "message", "latin")),
    "same_script_without_words": (False, ("nearness", "message", "latin")),
    "other_script": (True, ("nearness", "gap")),
    "words": (False, ("coverage",)),
}
"""Whether a model is of questions across languages, and what it weighs."""
CONTEXT = frozenset({"message", "latin"})
"""What is no evidence, but says how to read it: these weights may have either sign."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    if options.cache and options.cache.exists():
        asked = pickle.loads(options.cache.read_bytes())
    else:
        asked = gather(options.folders)
        if options.cache:
            options.cache.write_bytes(pickle.dumps(asked))
    for name, (is_across, features) in MODELS.items():
        report(name, [one for one in asked if one.is_across is is_across and one.kind is not Kind.PERSON], features)
    report_people([one for one in asked if one.evidence.about_asked is not None])


def report(name: str, asked: Sequence[Asked], features: tuple[str, ...]) -> None:
    for half in (0, 1):
        weights = fitted([one for one in asked if one.half == half], features)
        print(f"\n{name}, fitted on half {half}: {described(features, weights)}; on the other half:")
        for label, part in parts([one for one in asked if one.half != half]):
            print(f"  {label:34} {measured(part, features, weights)}")
    print(f"\n{name}, fitted on all: {described(features, fitted(asked, features))}")


def report_people(asked: Sequence[Asked]) -> None:
    """The weights of whom it is about; each kind counts the same."""
    for half in (0, 1, None):
        own = [one for one in asked if half is None or one.half == half]
        labels = np.array([one.is_answerable for one in own], dtype=float)
        if not 0 < labels.sum() < len(labels):
            return
        weights = logistic(matrix(own, ("about_asked",)), labels, shares(list(map(bool, labels))))
        where = "all" if half is None else f"half {half}"
        print(f"\npeople, fitted on {where}: {described(('about_asked',), weights)}")
        other = [one for one in asked if half is not None and one.half != half]
        if other:
            print(f"  on the other half: {measured(other, ('about_asked',), weights)}")


def parts(asked: Sequence[Asked]) -> list[tuple[str, list[Asked]]]:
    """By folder and category, the answerable with each kind of unanswerable ones."""
    found = []
    for folder, category in sorted({(one.folder, one.category) for one in asked}):
        own = [one for one in asked if (one.folder, one.category) == (folder, category)]
        for kind in (Kind.ABSENT, Kind.NOWHERE, Kind.FOREIGN):
            part = [one for one in own if one.kind in (Kind.PRESENT, kind)]
            if {one.is_answerable for one in part} == {True, False}:
                found.append((f"{folder} {category} {kind.value}", part))
    return found


def fitted(asked: Sequence[Asked], features: tuple[str, ...]) -> Matrix:
    """Weights of evidence that are not negative: those that would be are left out."""
    # What is nowhere is for trying alone, so that it is held out of every fit.
    asked = [one for one in asked if one.kind is not Kind.NOWHERE]
    labels = np.array([one.is_answerable for one in asked], dtype=float)
    has_turns = any(one.evidence.is_message for one in asked)
    kept = [name for name in features if name != "message" or has_turns]
    while True:
        weights = logistic(matrix(asked, kept), labels, weighed(asked))
        negative = [name for name, weight in zip(kept, weights[1:], strict=True) if weight < 0 and name not in CONTEXT]
        if not negative:
            by_name = dict(zip(kept, weights[1:], strict=True))
            return np.array([weights[0], *(by_name.get(name, 0.0) for name in features)])
        kept.remove(negative[0])


def weighed(asked: Sequence[Asked]) -> Matrix:
    """So that no folder and no kind of question outweighs another by its number."""
    titled = {one.folder for one in asked if one.kind is Kind.ABSENT}
    counts = Counter((one.folder, one.kind) for one in asked)
    kinds: dict[str, set[Kind]] = {}
    for folder, kind in counts:
        kinds.setdefault(folder, set()).add(kind)

    def weight(one: Asked) -> float:
        share = 1.0 if one.is_answerable or len(kinds[one.folder]) < 3 else ABSENT_WEIGHTS[one.kind]
        is_large = one.folder in titled or one.evidence.is_message
        return FOLDER_WEIGHTS[is_large] * share / counts[one.folder, one.kind]

    weights = np.array([weight(one) for one in asked])
    mean: float = weights.mean()
    return weights / mean


def shares(kinds: list[bool]) -> Matrix:
    counts = Counter(kinds)
    return np.array([len(kinds) / (2 * counts[kind]) for kind in kinds])


def matrix(asked: Sequence[Asked], features: Sequence[str]) -> Matrix:
    return np.array([[1.0, *(FEATURES[name](one.evidence) for name in features)] for one in asked])


def measured(asked: Sequence[Asked], features: Sequence[str], weights: Matrix) -> str:
    scores, labels = matrix(asked, features) @ weights, np.array([one.is_answerable for one in asked])
    false = [np.mean(scores[~labels] >= np.quantile(scores[labels], lost)) for lost in LOST_SHARES]
    curve = ", ".join(f"{each:.1%} at {lost:.0%} lost" for each, lost in zip(false, LOST_SHARES, strict=True))
    return f"n {labels.sum()}+{(~labels).sum()}, AUROC {auroc(scores, labels):.4f}; false answers {curve}"


def described(features: Sequence[str], weights: Matrix) -> str:
    named = zip(("intercept", *features), weights, strict=True)
    return ", ".join(f"{name} {weight:.2f}" for name, weight in named)


def logistic(features: Matrix, labels: Matrix, weighed: Matrix) -> Matrix:
    """Weights of a logistic regression by Newton's method, over columns of equal spread, with a slight ridge."""
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    mean[0], spread[0] = 0.0, 1.0
    scaled = (features - mean) / spread
    ridge = RIDGE * len(labels) * np.eye(scaled.shape[1])
    weights = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (weighed * (labels - probability)) - ridge @ weights
        curvature = (scaled.T * (weighed * probability * (1 - probability))) @ scaled + ridge
        weights = weights + np.linalg.solve(curvature + 1e-9 * np.eye(len(weights)), slope)
    plain: Matrix = weights / spread
    plain[0] = weights[0] - (weights[1:] * mean[1:] / spread[1:]).sum()
    return plain


def auroc(scores: Matrix, labels: npt.NDArray[np.bool_]) -> float:
    """Probability that an answerable question scores above an unanswerable one, ties half."""
    above = (scores[labels][:, None] > scores[~labels][None, :]).mean()
    return float(above + (scores[labels][:, None] == scores[~labels][None, :]).mean() / 2)


if __name__ == "__main__":
    main()
