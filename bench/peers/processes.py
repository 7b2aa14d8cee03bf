"""What processes have used, from `/proc`: a process with all that it began, those that have ended included."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _fields(int(entry.name))):
            children[int(fields[1])].append(int(entry.name))
    found = [root]
    for each in found:
        found += children[each]
    return found


def processor_s(root: int) -> float:
    """Seconds of processor time of a process and its descendants since they began. Those that ended are in their
    parent's account once it has waited for them."""
    return sum(sum(map(int, fields[11:15])) for each in tree(root) if (fields := _fields(each))) / _TICKS_PER_S


def peak_mb(pid: int) -> float:
    """The most memory that a process has had resident."""
    return _kilobytes(Path(f"/proc/{pid}/status"), "VmHWM:") / 1024


def own_mb(pid: int) -> float:
    """Memory of a process, of what it shares with others its share."""
    return _kilobytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:") / 1024


def _fields(pid: int) -> list[str]:
    """The fields of `stat` after the name; none where the process has ended. 1: parent; 11 to 14: ticks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _kilobytes(path: Path, name: str) -> float:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) for line in lines if line.startswith(name)), 0.0)
