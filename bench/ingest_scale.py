"""How fast the writer takes observations into a big store, beside a small one.

usage: python -m bench.ingest_scale SMALL LARGE [--rounds N] [--batches N] [--json]

Both folders are of `big_store`. Each round writes the same observations, in batches of 100 by one client, into the
largest namespace of either store, by turns, through a writer process of its own without an embedding loop; they are
taken out again at the end. Figures are medians over the rounds.

With --json one object: `small_rows`, `large_rows`, `small_per_second`, `large_per_second`, and `ratio`, the median of
the rounds' ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
import grpc.aio
from palimpsest.v1 import observation_pb2, reference_pb2
from palimpsest.v1.writer_service_pb2_grpc import WriterServiceStub

from bench.big_content import Content, name_of
from bench.big_store import serving
from bench.ingest_speed import BATCH, Mode, _write
from bench.own_process import own_process

SYSTEM = "ingest-scale"
_MODE = Mode("batch_1", BATCH, 1)
_QUIET = {"embedding_enabled": "false", "curation_enabled": "false"}
_OF_BENCH = "SELECT observation_id FROM observations WHERE namespace = $1 AND source_system = $2"
_TAKE_OUT = (
    f"DELETE FROM passages WHERE namespace = $1 AND observation_id IN ({_OF_BENCH})",
    f"""DELETE FROM entities AS e USING entity_evidence AS v WHERE e.namespace = $1 AND v.namespace = $1
        AND v.natural_key = e.natural_key AND v.observation_id IN ({_OF_BENCH})""",
    f"DELETE FROM entity_evidence WHERE namespace = $1 AND observation_id IN ({_OF_BENCH})",
    f"DELETE FROM documents WHERE namespace = $1 AND observation_id IN ({_OF_BENCH})",
    "DELETE FROM observations WHERE namespace = $1 AND source_system = $2",
)


@dataclass(frozen=True, slots=True)
class Store:
    """One of the two stores, being served."""

    dsn: str
    rows: int
    target: str

    async def write(self, observations: list[observation_pb2.Observation]) -> float:
        """Observations a second."""
        async with grpc.aio.insecure_channel(self.target) as channel:
            seconds = await _write([WriterServiceStub(channel)], name_of(1), observations, _MODE)
        return len(observations) / seconds

    async def take_out(self) -> None:
        """Deletes what was written here."""
        connection = await asyncpg.connect(self.dsn)
        for statement in _TAKE_OUT:
            await connection.execute(statement, name_of(1), SYSTEM)
        await connection.execute("VACUUM passages, entities, entity_evidence, documents, observations")
        await connection.close()


def _observations(content: Content, number: int, count: int) -> list[observation_pb2.Observation]:
    """Messages of a round, that no other round says."""
    made = []
    for place, text in enumerate(content.more_texts(number, count)):
        external_id = f"{number}-{place}"
        source = reference_pb2.SourceIdentity(system=SYSTEM, stream=f"round-{number}", external_id=external_id)
        observation = observation_pb2.Observation(kind="message", content=text, source=source)
        observation.occurred_at.FromDatetime(datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=place))
        made.append(observation)
    return made


async def _measure(small: Store, large: Store, content: Content, rounds: int, batches: int) -> list[dict[str, float]]:
    await asyncio.gather(*(store.write(_observations(content, 0, BATCH)) for store in (small, large)))
    rates = []
    for number in range(1, rounds + 1):
        observations = _observations(content, number, batches * BATCH)
        # The first of a pair finds the processor colder: each is it as often.
        order = (("small", small), ("large", large))[:: 1 if number % 2 else -1]
        rates.append({name: await store.write(observations) for name, store in order})
    await asyncio.gather(small.take_out(), large.take_out())
    return rates


def measure(folders: tuple[Path, Path], *, rounds: int, batches: int) -> dict[str, Any]:
    """The figures of two stores."""
    with ExitStack() as stack:
        stores = []
        for folder in folders:
            postgres, content = stack.enter_context(serving(folder))
            target = stack.enter_context(own_process("writer", postgres.dsn(), **_QUIET))
            stores.append(Store(postgres.dsn(), content.rows, target))
        rates = asyncio.run(_measure(stores[0], stores[1], Content(BATCH * BATCH), rounds, batches))
    return {
        "small_rows": stores[0].rows,
        "large_rows": stores[1].rows,
        "small_per_second": round(median(each["small"] for each in rates), 1),
        "large_per_second": round(median(each["large"] for each in rates), 1),
        "ratio": round(median(each["large"] / each["small"] for each in rates), 3),
    }


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("small", type=Path)
    parser.add_argument("large", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=10, help="calls of 100 a round")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args()
    figures = measure((options.small, options.large), rounds=options.rounds, batches=options.batches)
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{figures['small_rows']:9,} rows  {figures['small_per_second']:8.1f}/s")
    print(f"{figures['large_rows']:9,} rows  {figures['large_per_second']:8.1f}/s   ratio {figures['ratio']}")


if __name__ == "__main__":
    main()
