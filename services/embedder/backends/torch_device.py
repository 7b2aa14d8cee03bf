"""The device that torch runs a model on."""

import platform
import time
from typing import cast

import torch

from services.embedder.backends.device_plan import Device
from services.embedder.backends.processors import automatic_threads
from services.embedder.settings import EmbedderSettings

# The matrices by which a device's peak is told: large enough to fill it.
_SIDE = {"cpu": 1024}
_SIDE_ELSEWHERE = 8192
_PRODUCTS = 20


def described(wanted: str) -> Device:
    """Describes a device; for `auto` the best that there is. Raises `RuntimeError` where it is not there."""
    name = _best() if wanted == "auto" else wanted
    kind = torch.device(name).type
    if kind == "cuda":
        properties = torch.cuda.get_device_properties(name)
        return Device(kind, name, properties.name, (properties.major, properties.minor))
    if kind == "mps":
        return Device(kind, name, platform.processor())
    return Device("cpu", name, _processor(), has_bfloat16=_has_bfloat16())


def pin_threads(device: Device, settings: EmbedderSettings) -> int:
    """Gives models on the processor their threads, and returns how many."""
    threads = settings.threads or automatic_threads()
    if device.kind == "cpu":
        torch.set_num_threads(threads)
    return threads


def torch_dtype(name: str) -> torch.dtype:
    """Returns torch's own name of a type."""
    return cast("torch.dtype", getattr(torch, name))


def peak_flops(device: str, dtype: str) -> float:
    """The best rate of a product of two large matrices on the device, in the model's type, a second."""
    side = _SIDE.get(device.partition(":")[0], _SIDE_ELSEWHERE)
    matrix = torch.randn(side, side, device=device, dtype=torch_dtype(dtype))
    best = 0.0
    for _ in range(_PRODUCTS):
        began = time.perf_counter()
        matrix @ matrix
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        elif device.startswith("mps"):
            torch.mps.synchronize()
        best = max(best, 2 * side**3 / (time.perf_counter() - began))
    return best


def _best() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _processor() -> str:
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def _has_bfloat16() -> bool:
    # The same test that torch makes before it multiplies in bfloat16 by oneDNN.
    return bool(torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())  # type: ignore[no-untyped-call]
