"""OP-2: each reason of an error is documented with an example, and raised by a domain error that keeps to it."""

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest

from shared import errors
from shared.errors import PalimpsestError, Violation
from tests.contract.contract import PROTOS, elements, parsed

PREFIX = "palimpsest.v1.ErrorReason.ERROR_REASON_"

# Reasons that no error of shared/errors.py has.
ELSEWHERE = {
    "NO_RERANKER",  # services/embedder/servicer.py
    "SCHEMA_VIOLATION",  # a failed assertion's, never a call's
}

ARGUMENTS: dict[Any, Any] = {
    str: "x",
    int: 1,
    float: 1.0,
    Sequence[str]: ["x", "y"],
    Sequence[Violation]: [Violation("field", "is wrong")],
}


def every(kind: type[PalimpsestError] = PalimpsestError) -> Iterator[type[PalimpsestError]]:
    """The errors of shared/errors.py."""
    for one in kind.__subclasses__():
        if one.__module__ == errors.__name__:
            yield one
        yield from every(one)


def made(kind: type[PalimpsestError]) -> PalimpsestError:
    """An error of a kind, with some value for each argument that it must have."""
    needed = {
        name: ARGUMENTS[parameter.annotation]
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is parameter.empty
    }
    return kind(**needed)


@pytest.fixture(scope="module")
def comments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What stands above each reason, by its name without the prefix."""
    found = elements(parsed(PROTOS, tmp_path_factory.mktemp("contract") / "set"))
    all_of_them = {one.name.removeprefix(PREFIX): one.comment for one in found if one.name.startswith(PREFIX)}
    return {name: comment for name, comment in all_of_them.items() if name != "UNSPECIFIED"}


def example(comment: str) -> dict[str, str]:
    """The example of the metadata in a comment."""
    found = re.search(r"Metadata: (\{.*?\})\.$", comment)
    assert found, comment
    metadata: dict[str, str] = json.loads(found[1])
    return metadata


def test_each_reason_has_an_example_of_its_metadata(comments: dict[str, str]) -> None:
    """OP-2: a JSON object of texts, which is what ErrorInfo carries."""
    assert len(comments) > 20
    for comment in comments.values():
        assert all(isinstance(value, str) and value for value in example(comment).values())


def test_each_reason_names_its_status_code(comments: dict[str, str]) -> None:
    """OP-2: a reason without a code of gRPC would be half a promise."""
    codes = {code.name for code in grpc.StatusCode}
    assert [name for name, comment in comments.items() if not codes & set(re.findall(r"[A-Z_]+", comment))] == []


def test_each_reason_is_raised(comments: dict[str, str]) -> None:
    """OP-2: a reason of the contract has a domain error, or stands on the list of the others."""
    raised = {kind.reason for kind in every()}
    assert set(comments) == raised | ELSEWHERE
    assert not raised & ELSEWHERE, "it has one: take it off the list"


@pytest.mark.parametrize("kind", list(every()), ids=lambda kind: kind.__name__)
def test_errors_keep_to_the_contract(kind: type[PalimpsestError], comments: dict[str, str]) -> None:
    """OP-2: an error's code is one that its reason's comment names, and its metadata have the keys of the example."""
    error = made(kind)
    comment = comments[error.reason]
    assert error.code.name in re.findall(r"[A-Z_]+", comment)
    assert set(error.metadata) == set(example(comment))
    assert ("RetryInfo" in comment) <= (error.retry_after_s is not None)
    assert ("BadRequest" in comment) <= bool(error.violations or kind is errors.UndecodableMessage)


def test_what_services_declare_is_on_the_list() -> None:
    """OP-2: what a service declares for itself has the code and the metadata of the contract too."""
    sources = "".join(path.read_text() for path in (Path(errors.__file__).parents[1] / "services").rglob("*.py"))
    for reason in set(re.findall(r'^    reason = "([A-Z_]+)"', sources, re.MULTILINE)):
        assert reason in ELSEWHERE
