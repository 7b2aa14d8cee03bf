"""Kills the processes of the system, at named points and at random, while clients go on, and says what is lost.

usage: python -m tests.faults.crash [--kills N] [--seed N]

Starts a Postgres of its own, two writers, a reader and two embedders, and seven clients, each in a process of its own.
Progress goes to stderr. The last line of stdout is one JSON object: `kills`, `acknowledged` (what clients were told is
stored), `lost` (of it), `duplicated`, and `digest_equal`: whether `Digest` is that of the same stream, said to services
that nobody killed, in another database. The exit status is 1 where something is lost, doubled, different or otherwise
wrong: an error that does not pass, a process that ended by itself, a vector that never comes, a broken chain of the
audit, or, with 500 kills and more, a point at which nobody died.
"""

import argparse
import json
import signal
import sys
import time

from tests.faults.crash.run import LEAST_KILLS, crash, tell_of_kills


def main() -> None:
    """Runs, and ends with the status."""
    # What is stopped stops its database too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.kills < LEAST_KILLS:
        parser.error(f"--kills: at least {LEAST_KILLS}, so that each kind of process dies")
    began = time.monotonic()
    result = crash(arguments.kills, arguments.seed, tell=lambda text: print(text, file=sys.stderr, flush=True))
    tell_of_kills(result.toll)
    for fault in result.faults:
        print(f"wrong: {fault}", file=sys.stderr)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    told = ("kills", "acknowledged", "lost", "duplicated", "digest_equal")
    print(json.dumps({name: getattr(result, name) for name in told}), flush=True)
    sys.exit(0 if result.is_good else 1)


if __name__ == "__main__":
    main()
