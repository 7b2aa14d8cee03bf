"""Network namespaces of one run, and the cables between them: what is cut or slowed is nobody else's. Needs root."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tests.faults.crash.lives import enter_network

T = TypeVar("T")

# Addresses that are given to no network: for benchmarks of devices (RFC 2544).
_NETWORK = "198.18"
# Of a slow cable: by delay, where the kernel can, else by so few bytes a second.
_Shape: TypeAlias = tuple[str, ...]
_DELAY: _Shape = ("netem", "delay", "150ms", "50ms", "loss", "5%")
_FEW_BYTES: _Shape = ("tbf", "rate", "400kbit", "burst", "6000", "latency", "400ms")
_LONGEST_PASSAGE_S = 60.0


@dataclass(frozen=True)
class Cable:
    """A pair of virtual devices between the namespace `near` and another, `far`, with an address at each end."""

    near: str
    far: str
    near_device: str
    far_device: str
    near_address: str
    far_address: str

    def cut(self) -> None:
        """Lets packets vanish, without a word to those who send them."""
        _ip("-n", self.far, "link", "set", self.far_device, "down")

    def mend(self) -> None:
        """Lets packets pass."""
        _ip("-n", self.far, "link", "set", self.far_device, "up")

    @contextmanager
    def slowed(self) -> Iterator[str]:
        """Slows what passes, in both directions, while the block runs; says how."""
        ends = ((self.near, self.near_device), (self.far, self.far_device))
        how = _DELAY
        for namespace, device in ends:
            if how is _DELAY and not _shape(namespace, device, _DELAY):
                # The kernel has no module for delays.
                how = _FEW_BYTES
            if how is _FEW_BYTES and not _shape(namespace, device, _FEW_BYTES):
                raise OSError("the kernel can neither delay packets nor limit their rate")
        try:
            yield " ".join(how)
        finally:
            for namespace, device in ends:
                subprocess.run(["tc", "-n", namespace, "qdisc", "del", "dev", device, "root"], check=True)

    def is_passable(self, port: int, timeout_s: float = 0.5) -> bool:
        """Whether a connection from the near end comes about."""

        def connect() -> bool:
            with socket.socket() as probe:
                probe.settimeout(timeout_s)
                return probe.connect_ex((self.far_address, port)) == 0

        return inside(self.near, connect)

    def passage_s(self, size: int) -> float:
        """How long so many bytes take from the far end to the near one, the connection included."""

        def send() -> None:
            with listening.accept()[0] as sending:
                sending.sendall(bytes(size))

        def receive() -> float:
            began = time.monotonic()
            with socket.create_connection(address, timeout=_LONGEST_PASSAGE_S) as receiving:
                while receiving.recv(65_536):
                    pass
            return time.monotonic() - began

        with inside(self.far, lambda: socket.create_server((self.far_address, 0))) as listening:
            address = listening.getsockname()
            listening.settimeout(_LONGEST_PASSAGE_S)
            sender = threading.Thread(target=send)
            sender.start()
            took_s = inside(self.near, receive)
            sender.join()
        return took_s


@contextmanager
def cabled(hub: str, *others: str) -> Iterator[dict[str, Cable]]:
    """Namespaces, each with a cable to the hub, by the names of the others; all gone afterwards."""
    prefix = f"plm{os.getpid()}"
    names = {name: f"{prefix}-{name}" for name in (hub, *others)}
    made: list[str] = []
    try:
        for namespace in names.values():
            _ip("netns", "add", namespace)
            made.append(namespace)
            _ip("-n", namespace, "link", "set", "lo", "up")
        yield {
            other: _lay(names[hub], names[other], f"{hub[:4]}{number}", f"{other[:4]}{number}", number)
            for number, other in enumerate(others, start=1)
        }
    finally:
        for namespace in made:
            _ip("netns", "del", namespace)


def inside(namespace: str, work: Callable[[], T]) -> T:
    """What `work` answers in a namespace, in a thread that ends with it."""
    answers: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            enter_network(namespace)
            answers.append(work())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return answers[0]


def why_not() -> str:
    """Why no networks can be made here; empty: they can."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "needs ip and tc (iproute2)"
    try:
        with cabled("try", "end"):
            return ""
    except subprocess.CalledProcessError as error:
        return f"namespaces cannot be made: {error.stderr.decode(errors='replace').strip()}"


def _lay(near: str, far: str, near_device: str, far_device: str, number: int) -> Cable:
    cable = Cable(near, far, near_device, far_device, f"{_NETWORK}.{number}.1", f"{_NETWORK}.{number}.2")
    _ip("-n", near, "link", "add", near_device, "type", "veth", "peer", "name", far_device, "netns", far)
    for namespace, device, address in ((near, near_device, cable.near_address), (far, far_device, cable.far_address)):
        _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", device)
        _ip("-n", namespace, "link", "set", device, "up")
    return cable


def _shape(namespace: str, device: str, how: _Shape) -> bool:
    command = ["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", *how]
    return subprocess.run(command, capture_output=True).returncode == 0


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
