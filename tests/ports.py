"""Ports that a test names before anything listens there."""

import random
import socket

# Below those that systems give away by themselves, to who listens and to who calls: nobody takes one by chance between
# the choice and the start of the service, nor between two of its lives.
_PORTS = range(20_000, 32_000)
# Not the generator that tests seed, or two of them that run beside each other would choose alike.
_chance = random.SystemRandom()


def free_port(row: int = 1) -> int:
    """A port at which nobody listens, nor at those after it, as many as the row has."""
    while True:
        first = _chance.choice(_PORTS)
        if not any(_is_taken(port) for port in range(first, first + row)):
            return first


def free_ports(count: int) -> list[int]:
    """So many different ones."""
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return list(found)


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
