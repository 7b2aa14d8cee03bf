"""One device: the rate of passages through gRPC, how full batches are, and the share of what the device can do."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
import urllib.request
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub

from bench import folder as data
from bench.embed_peer import write_model
from bench.embed_serving import embedder
from bench.system import _free_port

_CALLERS = 16
_TEXTS_A_CALL = {"cpu": 8}
_TEXTS_A_CALL_ELSEWHERE = 512
_WARM_S = 3.0
_MOMENT_S = 0.05
# Side of the square matrices whose product tells the peak, on a processor and elsewhere.


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of `options.device`, with a model of sentence-transformers."""
    model = options.model or str(write_model(options.peers))
    metrics = _free_port()
    texts = [row["text"] for row in data.lines(options.folder / "docs.jsonl.gz")]
    settings = {
        "embedder_backend": "sentence-transformers",
        "embedder_model": model,
        "embedder_device": options.device,
        "metrics_host": "127.0.0.1",
        "metrics_port": str(metrics),
    }
    with embedder(**settings) as target:
        figures = asyncio.run(_rates(target, metrics, texts, options.rounds, options.seconds))
    from services.embedder.backends.torch_device import peak_flops  # brings torch, which other parts do without

    peak = peak_flops(options.device, figures["dtype"])
    needed = flops_per_token(Path(model) / "config.json", figures["tokens_a_text"])
    return figures | {
        "flops_a_token": needed,
        "peak_tflops": peak / 1e12,
        "share_of_peak": figures["tokens_per_s"] * needed / peak,
    }


async def _rates(target: str, metrics: int, texts: Sequence[str], rounds: int, seconds: float) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        # A connection each: callers take turns, and one connection is one caller.
        options = [[("bench.connection", number)] for number in range(_CALLERS)]
        channels = [
            await stack.enter_async_context(grpc.aio.insecure_channel(target, options=each)) for each in options
        ]
        stubs = [EmbedderServiceStub(channel) for channel in channels]
        model = await stubs[0].GetModel(pb.GetModelRequest())
        counted = {"texts": 0, "tokens": 0}
        size = _TEXTS_A_CALL.get(model.device, _TEXTS_A_CALL_ELSEWHERE)
        callers = [asyncio.create_task(_caller(stub, texts, size, counted)) for stub in stubs]
        await asyncio.sleep(_WARM_S)
        seen = []
        for _ in range(rounds):
            before, fill = dict(counted), await asyncio.to_thread(_fills, metrics)
            began = time.perf_counter()
            await asyncio.sleep(seconds)
            while counted == before:  # noqa: ASYNC110 - a slow device has not answered yet
                await asyncio.sleep(_MOMENT_S)
            took, after = time.perf_counter() - began, await asyncio.to_thread(_fills, metrics)
            batches = max(1.0, after[1] - fill[1])
            gone = {name: counted[name] - before[name] for name in counted}
            seen.append((gone["tokens"] / took, gone["texts"] / took, (after[0] - fill[0]) / batches))
        for each in callers:
            each.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    rates = {
        name: median(one[place] for one in seen) for place, name in enumerate(("tokens_per_s", "texts_per_s", "fill"))
    }
    told = {"backend": model.backend, "device": model.device, "dtype": model.dtype}
    return told | rates | {"tokens_a_text": counted["tokens"] / max(1, counted["texts"])}


async def _caller(stub: EmbedderServiceStub, texts: Sequence[str], size: int, counted: dict[str, int]) -> None:
    randomness = Random()
    while True:
        some = randomness.choices(texts, k=size)
        response = await stub.Embed(pb.EmbedRequest(texts=some, input_type=pb.INPUT_TYPE_PASSAGE))
        counted["texts"] += len(response.results)
        counted["tokens"] += sum(result.token_count for result in response.results)


def _fills(port: int) -> tuple[float, float]:
    """The sum of the fills of all batches so far, and their number, as the embedder's metrics tell them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        told = answer.read().decode()
    sums, counts = (re.search(rf"palimpsest_embedder_batch_fill_ratio_{part} (\S+)", told) for part in ("sum", "count"))
    return (float(sums[1]), float(counts[1])) if sums and counts else (0.0, 0.0)


def flops_per_token(config: Path, tokens_a_text: float) -> float:
    """Floating-point operations of a BERT-like encoder for one token of a text: two for each weight, and attention."""
    told = json.loads(config.read_text())
    hidden, wide = told["hidden_size"], told["intermediate_size"]
    weights = 4 * hidden * hidden + 2 * hidden * wide
    return float(told["num_hidden_layers"] * (2 * weights + 4 * tokens_a_text * hidden))
