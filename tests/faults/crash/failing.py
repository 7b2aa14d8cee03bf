"""Lets what the services rest on fail while clients go on, and says what is lost.

usage: python -m tests.faults.crash.failing FAULT... [--times N] [--seed N]

FAULT is `backend` (of Postgres, killed), `postmaster` (killed, and started again), `connections` (cut), `disk` (full;
needs root, who mounts a small file system for it), or `all`. Prints one JSON object a fault: `fault`, `times`,
`acknowledged`, `lost`, `duplicated`, `late` (calls that a service answered after their deadline), `ended` (services
that did not outlive it), `recovered_s`, `retried` and `wrong` (errors that clients met, by code), `seen` (how often the
server's log tells of the fault). What cannot be run here is told as `not_run`, with the reason. The exit status is 1
where anything is lost, doubled, late, ended or wrong, or a fault was none or not run.
"""

import argparse
import json
import signal
import sys

from tests.faults.crash.load import Weathered
from tests.faults.crash.postgres_faults import FAULTS, weather, why_no_disk


def main() -> None:
    """Runs, and ends with the status."""
    # What is stopped stops its database too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="+", choices=[*FAULTS, "all"])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    names = list(FAULTS) if "all" in arguments.faults else arguments.faults
    results = [_run(name, arguments.times, arguments.seed) for name in names]
    sys.exit(0 if all(results) else 1)


def _run(name: str, times: int, seed: int) -> bool:
    if FAULTS[name].needs_disk and (reason := why_no_disk()):
        print(json.dumps({"fault": name, "not_run": reason}), flush=True)
        return False
    return tell(weather([name], times, seed))


def tell(weathered: Weathered) -> bool:
    """Prints what a fault came to; answers whether it was weathered."""
    print(json.dumps(vars(weathered)), flush=True)
    return weathered.is_good


if __name__ == "__main__":
    main()
