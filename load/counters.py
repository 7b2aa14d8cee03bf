"""What the servers counted themselves: calls by method and status, from their Prometheus metrics."""

import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from http.client import HTTPException

from prometheus_client.parser import text_string_to_metric_families

_OURS = "palimpsest_"
_CALLS = "palimpsest_call_duration_seconds_count"
_TIMEOUT_S = 10.0
_SETTLED_S = 3.0
_POLL_S = 0.1

Calls = Counter[tuple[str, str]]
"""By method, as `/palimpsest.v1.Service/Method`, and code, as `RESOURCE_EXHAUSTED`."""


def require_metrics(addresses: Sequence[str]) -> None:
    """Raises SystemExit where an address does not tell the metrics of a service."""
    for address in addresses:
        try:
            found = samples([address])
        except (OSError, HTTPException, ValueError) as error:  # ValueError: no address, or no metrics
            raise SystemExit(f"--metrics: {address} cannot be read: {getattr(error, 'reason', error)}") from None
        if not any(name.startswith(_OURS) for name, _, _ in found):
            raise SystemExit(f"--metrics: {address} tells no metrics of Palimpsest")


def calls_counted(addresses: Sequence[str]) -> Calls:
    """Calls that ended, of all processes together."""
    found: Calls = Counter()
    for name, labels, value in samples(addresses):
        if name == _CALLS:
            found[labels["method"], labels["code"]] += int(value)
    return found


def gauge(addresses: Sequence[str], name: str) -> float:
    """The greatest value of a gauge; 0 where no process has it."""
    return max((value for each, _, value in samples(addresses) if each == name), default=0.0)


def total(addresses: Sequence[str], name: str) -> float:
    """The sum of a gauge over all processes and labels."""
    return sum(value for each, _, value in samples(addresses) if each == name)


def samples(addresses: Sequence[str]) -> list[tuple[str, dict[str, str], float]]:
    """All samples of all processes: name, labels, value."""
    found = []
    for address in addresses:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
            text = answer.read().decode()
        families = text_string_to_metric_families(text)
        found += [(each.name, each.labels, each.value) for family in families for each in family.samples]
    return found


def settled(read: Callable[[], int], wanted: int) -> int:
    """What `read` gives, once that is no less than `wanted`, or after a while: a call is counted after its answer."""
    give_up = time.monotonic() + _SETTLED_S
    while (found := read()) < wanted and time.monotonic() < give_up:
        time.sleep(_POLL_S)
    return found
