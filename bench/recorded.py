"""Keeps what a benchmark prints, with what a reader has to know of it: command, machine, date, load.

usage: python -m bench.recorded FILE [--figures JSON] MODULE [ARGUMENT…]

Runs `python -m MODULE ARGUMENT…`, and writes to FILE one JSON object: `bench`, `command`, `date`, `machine`,
`load_average` (before and after), `seconds`, and `figures`: the last line that it printed, `{"runs": […]}` where each
of several lines is JSON, or what is in the file JSON that it wrote. Where it fails, what it printed is shown, and
FILE is not touched. `python -m bench.results` makes a page of such files.

    python -m bench.recorded docs/results/search_speed.json bench.search_speed DIR --json
    python -m bench.recorded docs/results/load.json --figures load-report/report.json load --out load-report
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def recorded(module: str, arguments: Sequence[str], figures: Path | None = None) -> dict[str, Any]:
    """Runs a benchmark and tells of it. Raises SystemExit where it fails, or prints no JSON."""
    before, began = os.getloadavg()[0], time.monotonic()
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stdout, flush=True)
        raise SystemExit(f"{module} ended with {done.returncode}")
    return {
        "bench": module.rpartition(".")[2],
        "command": " ".join(["python -m", module, *map(shown, arguments)]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "load_average": {"before": before, "after": os.getloadavg()[0]},
        "seconds": round(time.monotonic() - began),
        "figures": _figures(done.stdout if figures is None else figures.read_text()),
    }


def shown(argument: str) -> str:
    """An argument as another machine would give it: of a path elsewhere its name alone."""
    path = Path(argument)
    return path.name if path.is_absolute() or argument.startswith("..") else argument


def machine() -> dict[str, Any]:
    """What this runs on."""
    return {
        "processor": _value("/proc/cpuinfo", "model name") or platform.machine(),
        "processors": os.cpu_count() or 1,
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _value(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _figures(text: str) -> Any:
    lines = text.strip().splitlines() or [""]
    for candidate in (text, f'{{"runs": [{",".join(lines)}]}}', lines[-1]):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    raise SystemExit("no JSON was printed: is --json among the arguments?")


def main() -> None:
    """Runs from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--figures", type=Path, help="the file that the benchmark writes its figures to")
    parser.add_argument("module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    found = recorded(options.module, options.arguments, options.figures)
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
