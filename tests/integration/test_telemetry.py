"""Telemetry is set up once a process, so it is tried in a process of its own."""

import json
import subprocess
import sys

from tests.ports import free_port

SERVED = """
import asyncio, logging, sys, urllib.request
import grpc.aio
from palimpsest.v1 import embedder_service_pb2 as pb, embedder_service_pb2_grpc as stubs
from shared.server import Service, serve
from shared.settings import ServerSettings, TelemetrySettings
from shared.telemetry import telemetry

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

class Embedder(stubs.EmbedderServiceServicer):
    async def GetModel(self, request, context):
        return pb.GetModelResponse()

async def ready():
    return True

async def main():
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    register = lambda server: stubs.add_EmbedderServiceServicer_to_server(Embedder(), server)
    service = Service("palimpsest.v1.EmbedderService", register, ready)
    task = asyncio.create_task(serve(service, ServerSettings(), stop, bound))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await bound}") as channel:
        await stubs.EmbedderServiceStub(channel).GetModel(pb.GetModelRequest(), metadata=[("traceparent", PARENT)])
    stop.set()
    await task

settings = TelemetrySettings(traces="console", metrics_host="127.0.0.1", metrics_port=int(sys.argv[1]))
with telemetry(settings, service="embedder"):
    asyncio.run(main())
    metrics = urllib.request.urlopen(f"http://127.0.0.1:{settings.metrics_port}/metrics").read().decode()
print("METRICS", [line for line in metrics.splitlines() if line.startswith("palimpsest_call_duration_seconds_count")])
"""


def test_a_call_leaves_a_span_a_log_line_and_a_metric() -> None:
    """OP-3: the span continues the caller's trace, the log line has its id, and the metric its method and code."""
    command = [sys.executable, "-c", SERVED, str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    spans, _, metrics = done.stdout.partition("METRICS")
    span = json.loads(spans)
    assert span["name"] == "palimpsest.v1.EmbedderService/GetModel"
    assert span["context"]["trace_id"] == "0x0af7651916cd43dd8448eb211c80319c"
    assert span["parent_id"] == "0xb7ad6b7169203331"
    assert span["attributes"]["rpc.grpc.status_code"] == 0
    assert 'code="OK",method="/palimpsest.v1.EmbedderService/GetModel"} 1.0' in metrics
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    (call,) = [line for line in lines if line["message"] == "call"]
    assert (call["trace_id"], call["code"]) == ("0af7651916cd43dd8448eb211c80319c", "OK")
    assert {line["service"] for line in lines} == {"embedder"}
