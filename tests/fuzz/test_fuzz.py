"""OP-2, SH-5: whatever is sent, an RPC answers or refuses with a reason, and keeps nothing of what it refused.

A few dozen requests to each RPC; `make fuzz REQUESTS=10000` sends as many as are asked for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from shared.errors import InvalidField, InvalidText
from shared.validation import require_valid
from tests.fuzz.made_requests import Requests
from tests.fuzz.run import Told, chosen, left_to_do
from tests.fuzz.sending import METHODS, Fault, is_fault, kept, running, send

REQUESTS, SEED = 24, 1


async def test_whatever_is_sent_is_answered_or_refused(dsn: str) -> None:
    """OP-2: no INTERNAL, no UNKNOWN, no crash, and no row of what was refused."""
    answered, refused = 0, dict[str, str]()
    faults: list[Fault] = []
    async with running(dsn) as system:
        for place, method in enumerate(METHODS):
            came = await send(system, method, REQUESTS, SEED * 1_000 + place)
            answered, faults = answered + came.answered, faults + came.faults
            refused |= came.refused
        assert not faults
        # Whether requests came past the first check at all.
        assert answered > REQUESTS * len(METHODS) / 10
        assert not await kept(dsn, refused)


async def test_what_a_refused_request_leaves_is_found(dsn: str) -> None:
    """OP-2: a namespace that holds something is told as one where something was kept, by each table."""
    async with running(dsn) as system:
        left = await kept(system.dsn, {"held": "RecordObservation", "nowhere": "Search"})
    assert left["observations"] == {"RecordObservation"}
    assert left.keys() >= {"entities", "facts", "links"}
    assert "namespace_settings" not in left


@pytest.mark.parametrize(
    ("method", "code", "is_one"),
    [
        ("Search", grpc.StatusCode.INTERNAL, True),
        ("Embed", grpc.StatusCode.UNKNOWN, True),
        ("Watch", grpc.StatusCode.DATA_LOSS, True),
        ("Search", grpc.StatusCode.DEADLINE_EXCEEDED, True),
        ("Embed", grpc.StatusCode.DEADLINE_EXCEEDED, False),
        ("Watch", grpc.StatusCode.DEADLINE_EXCEEDED, False),
        ("Search", grpc.StatusCode.INVALID_ARGUMENT, False),
    ],
)
def test_what_is_a_fault(method: str, code: grpc.StatusCode, is_one: bool) -> None:
    """OP-2: what no request may be answered with; a call that may wait for what does not come may run into its time."""
    assert is_fault(method, code) is is_one


def test_requests_are_of_all_kinds() -> None:
    """What is sent meets limits and breaks them, is no message at all, and is another with another seed."""
    kinds = Counter(kind for method in METHODS for kind in kinds_of(method))
    assert all(kinds[kind] for kind in ("valid", "refused", "unreadable")), kinds
    first, second, other = (Requests(seed, ()).encoded(METHODS[0].input_type, "n") for seed in (1, 1, 2))
    assert first == second != other


def kinds_of(method: MethodDescriptor) -> Iterator[str]:
    """How a server reads some requests."""
    requests = Requests(1, ())
    for _ in range(20):
        try:
            require_valid(GetMessageClass(method.input_type).FromString(requests.encoded(method.input_type, "n")))
        except DecodeError:
            yield "unreadable"
        except (InvalidField, InvalidText):
            yield "refused"
        else:
            yield "valid"


def test_a_run_goes_on_where_one_ended(tmp_path: Path) -> None:
    """OP-2: what a file tells of as sent whole and well, with the same seed, is not sent again; all else is."""
    file = tmp_path / "results.jsonl"
    methods = METHODS[:5]
    names = [each.name for each in methods]
    assert left_to_do(methods, file, 10, 1) == methods
    lines = [told(names[0]), told(names[1], seed=2), told(names[2], faults=1), told(names[3]), told(names[4])]
    # The last one broke off.
    file.write_text("\n".join(lines)[:-5])
    assert [each.name for each in left_to_do(methods, file, 10, 1)] == [names[1], names[2], names[4]]
    assert left_to_do(methods, file, 11, 1) == methods


def told(rpc: str, *, seed: int = 1, faults: int = 0) -> str:
    """A line of results."""
    met = [Fault(rpc, "INTERNAL", "", [b"\0"])] * faults
    line = Told(rpc, 10, seed, {"OK": 10 - faults, "INTERNAL": faults}, faults, {}, met, 1.0, 0.5, "abc").line()
    assert json.loads(line)["faults"] == [{"code": "INTERNAL", "details": "", "sent": ["AA=="]}] * faults
    return line


def test_rpcs_are_chosen_by_name() -> None:
    """OP-2: all where none is named; a name that is no RPC's is told."""
    assert chosen("") == METHODS
    assert [each.name for each in chosen("Purge, Search")] == ["Purge", "Search"]
    with pytest.raises(SystemExit, match="no RPC: Serch"):
        chosen("Serch")
