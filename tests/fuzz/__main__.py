"""Sends made-up requests to each RPC of the system, and says what came of them.

usage: python -m tests.fuzz [--requests N] [--seed N] [--rpcs A,B] [--results FILE]

Starts a Postgres and the three services of its own. Each RPC meets a fresh copy of a store that has met some
requests to each. For each a line of JSON goes to stdout, and to the end of FILE: how many requests were sent, with
which answers, what no request may be answered with (and what was sent, in base64), and which tables hold rows of
what was refused. RPCs of which FILE tells that as many requests of this seed came out well are left out: so a run
that was interrupted goes on. The exit status is 1 where something is wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.run import chosen, fuzzed, left_to_do


def main() -> None:
    """Runs, and ends with the status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rpcs", default="", help="names of RPCs, with commas; all where none is given")
    parser.add_argument("--results", type=Path, help="a file of lines, which is added to")
    arguments = parser.parse_args()
    todo = left_to_do(chosen(arguments.rpcs), arguments.results, arguments.requests, arguments.seed)
    is_good = True
    for told in fuzzed(todo, arguments.requests, arguments.seed):
        print(told.line(), flush=True)
        if arguments.results:
            with arguments.results.open("a") as file:
                file.write(f"{told.line()}\n")
        is_good = is_good and told.is_good
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
