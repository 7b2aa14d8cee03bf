"""How fast the embedder serves: beside its own model without a server, under bulk load, and beside another server.

    python -m bench.embed FOLDER [--json] [--rounds N] [--seconds S] [--parts rate,query,peer] [--peers CACHE]
    python -m bench.embed FOLDER --device cuda [--model NAME]

One run whose parts take turns, round by round, so that whatever else the machine does falls on all of them; medians of
the rounds. (a) 32 callers with one text a call through gRPC, to the backend's own best rate without any server: at
least 0.9. (b) The p95 of a query beside saturating passages to that of the same queries alone: at most 3. (c) The rate
of 32 callers to that of `infinity-emb` with the same weights at its best, in a process of its own, through its own HTTP
API: at least 1.2, with a lower p95. It is installed under `--peers` where it isn't yet, which takes minutes. Rates are
tokens a second, so that texts of any length may fall into a round. Both servers give way to other processes alike.

The callers of (a) share the processors with the server, the backend alone shares them with nobody: what callers take
is told beside the ratio (`callers_share_of_processors`), and not taken off it.

`--device` measures one device instead: the rate, the fill of batches, and the share of the device's peak.

JSON keys: `rate_ratio`, `query_p95_ratio`, `peer_rate_ratio`, `peer_p95_ratio` (ours to theirs), and what they are of.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import uvloop
from palimpsest.v1 import embedder_service_pb2 as pb

from bench import embed_device, embed_peer
from bench.embed_bulk import Bulk, bulk
from bench.embed_load import Call, Load, grpc_calls, http_calls, load
from bench.embed_offline import Offline
from bench.embed_serving import embedder
from bench.embed_texts import Passage, endless, passages, questions
from bench.measures import percentile
from services.embedder.backends.selection import load_backend
from services.embedder.model_threads import NICENESS
from services.embedder.settings import EmbedderSettings

WANTED = {
    "rate_ratio": (">=", 0.9),
    "query_p95_ratio": ("<=", 3.0),
    "peer_rate_ratio": (">=", 1.2),
    "peer_p95_ratio": ("<", 1.0),
}
_TEXTS = 2000
_QUERIES_A_ROUND, _PAUSE_S = 80, 0.02
_SETTLING_S = 1.0


async def own_rates(
    target: str, offline: Offline, texts: Sequence[Passage], rounds: int, seconds: float
) -> dict[str, Any]:
    """(a) Through gRPC, and without a server."""
    ours: list[Load] = []
    alone: list[float] = []
    stream = endless(texts)
    async with grpc_calls(target, pb.INPUT_TYPE_PASSAGE, _said(texts)) as calls:
        for _ in range(rounds):
            alone.append(await asyncio.to_thread(offline.tokens_per_s, seconds))
            ours.append(await load(calls, stream, seconds))
    return {
        "rate_ratio": median(one.tokens_per_s / best for one, best in zip(ours, alone, strict=True)),
        "grpc_tokens_per_s": median(one.tokens_per_s for one in ours),
        "grpc_texts_per_s": median(one.texts_per_s for one in ours),
        "callers_ms_a_call": median(one.callers_ms for one in ours),
        "callers_share_of_processors": median(one.callers_share for one in ours),
        "offline_tokens_per_s": median(alone),
        "offline_batch_tokens": offline.batch_tokens,
        "offline_threads": offline.threads,
    }


async def query_times(target: str, passing: Bulk, asked: Sequence[str], rounds: int) -> dict[str, Any]:
    """(b) Queries one after the other, alone and beside saturating passages."""
    alone: list[list[float]] = []
    beside: list[list[float]] = []
    bulk_rates: list[float] = []
    async with grpc_calls(target, pb.INPUT_TYPE_QUERY, asked, callers=1) as (call,):
        for number in range(rounds):
            some = Random(number).sample(asked, min(_QUERIES_A_ROUND, len(asked)))
            alone.append([await _milliseconds(call, text) for text in some])
            await asyncio.to_thread(passing.on)
            await asyncio.sleep(_SETTLING_S)
            beside.append([await _milliseconds(call, text) for text in some])
            bulk_rates.append(await asyncio.to_thread(passing.off))
            await asyncio.sleep(_SETTLING_S)
    p95 = [(percentile(one, 0.95), percentile(two, 0.95)) for one, two in zip(alone, beside, strict=True)]
    return {
        "query_p95_ratio": median(two / one for one, two in p95),
        "query_p50_ms": median(median(one) for one in alone),
        "query_p95_ms": median(one for one, _ in p95),
        "query_p50_beside_bulk_ms": median(median(one) for one in beside),
        "query_p95_beside_bulk_ms": median(two for _, two in p95),
        "bulk_texts_per_s": median(bulk_rates),
    }


async def beside_peer(
    target: str, port: int, texts: Sequence[Passage], rounds: int, seconds: float
) -> dict[str, float]:
    """(c) The same 32 callers of either server, in turns."""
    ours: list[Load] = []
    theirs: list[Load] = []
    stream = endless(texts)
    async with (
        grpc_calls(target, pb.INPUT_TYPE_PASSAGE, _said(texts)) as grpc_callers,
        http_calls(port, embed_peer.MODEL, embed_peer.PREFIX, _said(texts)) as http_callers,
    ):
        for _ in range(rounds):
            theirs.append(await load(http_callers, stream, seconds))
            ours.append(await load(grpc_callers, stream, seconds))
    pairs = list(zip(ours, theirs, strict=True))
    return {
        "peer_rate_ratio": median(our.tokens_per_s / their.tokens_per_s for our, their in pairs),
        "peer_p95_ratio": median(_p95(our) / _p95(their) for our, their in pairs),
        "texts_per_s": median(their.texts_per_s for their in theirs),
        "p95_ms": median(map(_p95, theirs)),
        "our_texts_per_s": median(our.texts_per_s for our in ours),
        "our_p95_ms": median(map(_p95, ours)),
    }


def _said(texts: Sequence[Passage]) -> Iterator[str]:
    return (each.text for each in texts)


def _p95(seen: Load) -> float:
    return percentile(seen.latencies_s, 0.95) * 1000


async def _milliseconds(call: Call, text: str) -> float:
    await asyncio.sleep(_PAUSE_S)
    began = time.perf_counter()
    await call(text)
    return (time.perf_counter() - began) * 1000


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of the parts that are asked for."""
    backend = load_backend(EmbedderSettings())
    texts = passages(options.folder, backend, _TEXTS)
    figures: dict[str, Any] = {"rounds": options.rounds, "texts": len(texts), "load_average": os.getloadavg()[0]}
    figures["tokens_a_text"] = sum(text.tokens for text in texts) / len(texts)
    with ExitStack() as stack:
        target = stack.enter_context(embedder())
        if "rate" in options.parts:
            offline = Offline(backend, texts)
            figures |= _told(uvloop.run(own_rates(target, offline, texts, options.rounds, options.seconds)))
        if "query" in options.parts:
            passing, asked = stack.enter_context(bulk(target, options.folder)), questions(options.folder, _TEXTS)
            figures |= _told(uvloop.run(query_times(target, passing, asked, options.rounds)))
        if "peer" in options.parts:
            figures |= _compared(peers(options, target, texts))
    return figures


def peers(options: argparse.Namespace, target: str, texts: Sequence[Passage]) -> dict[str, Any]:
    """(c) Beside engines of the peer: what is served by default, and float32 beside float32."""
    embed_peer.install(options.peers)
    found: dict[str, Any] = {}
    for engine in (each for each in embed_peer.ENGINES if each.name in options.engines):
        with embed_peer.peer(options.peers, engine, niceness=NICENESS) as port:
            run = beside_peer(target, port, texts, options.rounds, options.seconds)
            found[engine.name] = {"precision": engine.precision} | _told(uvloop.run(run))
            if engine.precision == "float32":
                with embedder(embedder_dtype="float32") as exact:
                    run = beside_peer(exact, port, texts, options.rounds, options.seconds)
                    found[engine.name]["float32"] = _told(uvloop.run(run))
    return found


def _compared(found: Mapping[str, Any]) -> dict[str, Any]:
    """The ratios to the peer at its best, and both in float32."""
    kinds = {"": list(found.values()), "_float32": [each["float32"] for each in found.values() if "float32" in each]}
    ratios = {}
    for kind, runs in ((kind, runs) for kind, runs in kinds.items() if runs):
        ratios[f"peer_rate_ratio{kind}"] = min(run["peer_rate_ratio"] for run in runs)
        ratios[f"peer_p95_ratio{kind}"] = max(run["peer_p95_ratio"] for run in runs)
    return ratios | {"peer": found}


def _told(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures; they are shown at once, too, for a whole run takes minutes."""
    print("\n".join(table(figures)), end="\n\n", file=sys.stderr, flush=True)
    return figures


def table(figures: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A line a figure, and whether it is as it should be."""
    for name, figure in figures.items():
        if isinstance(figure, dict):
            yield f"{indent}{name}"
            yield from table(figure, indent + "  ")
            continue
        shown = f"{figure:.3f}" if isinstance(figure, float) else str(figure)
        yield f"{indent}{name:{28 - len(indent)}} {shown:>10}{'' if indent else _verdict(name, figure)}"


def _verdict(name: str, figure: Any) -> str:
    if name not in WANTED:
        return ""
    relation, bound = WANTED[name]
    met = {">=": figure >= bound, "<=": figure <= bound, "<": figure < bound}[relation]
    return f"  wanted {relation} {bound}: {'met' if met else 'MISSED'}"


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each part of a round")
    parser.add_argument("--peers", type=Path, default=Path.home() / ".cache" / "palimpsest-bench")
    parser.add_argument("--parts", default="rate,query,peer", help="which of (a), (b) and (c)")
    parser.add_argument("--engines", default="torch,onnx,onnx-int8", help="of the peer")
    parser.add_argument("--device", help="measure this device alone: cuda, cuda:0, cpu, mps")
    parser.add_argument("--model", default="", help="with --device: name or folder; unset for the bundled weights")
    options = parser.parse_args()
    options.parts, options.engines = options.parts.split(","), options.engines.split(",")
    figures = embed_device.measured(options) if options.device else measured(options)
    print(json.dumps(figures) if options.json else "\n".join(table(figures)))


if __name__ == "__main__":
    main()
