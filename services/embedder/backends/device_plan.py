"""What may be tried on a device: decided from a description of it, so that it can be told without the device."""

from dataclasses import dataclass

# Tensor cores for float16 came with 7.0 (Volta), for bfloat16 with 8.0 (Ampere); the compiler needs 7.0 as well.
_FLOAT16_CAPABILITY, _BFLOAT16_CAPABILITY, _COMPILER_CAPABILITY = (7, 0), (8, 0), (7, 0)

_BATCH_TOKENS = {
    "cuda": (8_192, 16_384, 32_768, 65_536, 131_072),
    "mps": (2_048, 4_096, 8_192, 16_384),
    "cpu": (512, 1_024, 2_048, 4_096),
}
_USUAL_BATCH_TOKENS = {"cuda": 65_536, "mps": 8_192, "cpu": 2_048}


@dataclass(frozen=True, slots=True)
class Device:
    """A device that models run on."""

    kind: str
    """`cuda`, `mps` or `cpu`."""
    name: str
    """As it is asked for, e.g. `cuda:0`."""
    model: str = ""
    """What it is, e.g. a product's name: what is measured on one holds for all of them."""
    capability: tuple[int, int] = (0, 0)
    """CUDA's compute capability."""
    has_bfloat16: bool = False
    """Whether a processor multiplies bfloat16 itself."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run a model."""

    runtime: str = "torch"
    """`torch` or `onnx`."""
    dtype: str = "float32"
    compiled: bool = False


def dtypes(device: Device) -> tuple[str, ...]:
    """Returns the types in which a model may be fast on the device, the most precise first."""
    if device.kind == "cuda":
        half = ("float16",) if device.capability >= _FLOAT16_CAPABILITY else ()
        return ("float32", *half, *(("bfloat16",) if device.capability >= _BFLOAT16_CAPABILITY else ()))
    if device.kind == "mps":
        return ("float32", "float16")
    return ("float32", "bfloat16") if device.has_bfloat16 else ("float32",)


def automatic_dtype(device: Device, wanted: str) -> str:
    """Returns the type that is wanted; for `auto` what suits the device where nothing is measured."""
    if wanted != "auto":
        return wanted
    return "float16" if device.kind == "cuda" and "float16" in dtypes(device) else "float32"


def variants(device: Device, *, dtype: str, runtime: str, compiled: str) -> list[Variant]:
    """Returns the ways to try, the most precise first, of those that the settings leave open.

    `dtype`, `runtime` and `compiled` (`on`, `off`) are settings; `auto` leaves a choice open. Raises `ValueError` where
    the settings contradict each other or the device.
    """
    _check(device, dtype, runtime, compiled)
    found = [Variant("torch", each) for each in (dtypes(device) if dtype == "auto" else (dtype,)) if each != "int8"]
    if compiled == "on":
        found = [Variant("torch", each.dtype, True) for each in found]
    if runtime == "onnx" or dtype == "int8":
        return [Variant("onnx", "int8" if dtype == "int8" else "float32")]
    if runtime == "auto" and device.kind == "cpu" and compiled != "on" and dtype in ("auto", "float32"):
        found.append(Variant("onnx"))
    return found


def may_compile(device: Device, compiled: str) -> bool:
    """Says whether it is worth to try what compiling brings: it takes long, and pays on CUDA alone."""
    return compiled == "auto" and device.kind == "cuda" and device.capability >= _COMPILER_CAPABILITY


def batch_ladder(device: Device) -> tuple[int, ...]:
    """Returns the token budgets of batches to try, rising."""
    return _BATCH_TOKENS[device.kind]


def usual_batch_tokens(device: Device) -> int:
    """Returns the token budget of a batch where nothing is measured."""
    return _USUAL_BATCH_TOKENS[device.kind]


def _check(device: Device, dtype: str, runtime: str, compiled: str) -> None:
    if runtime == "onnx" or dtype == "int8":
        if device.kind != "cpu":
            raise ValueError(f"ONNX Runtime is used on the processor alone, not on {device.name}")
        if dtype not in ("auto", "float32", "int8"):
            raise ValueError(f"ONNX Runtime runs models in float32 or int8, not in {dtype}")
        if compiled == "on":
            raise ValueError("only torch compiles models")
    if dtype == "int8" and runtime == "torch":
        raise ValueError("torch runs models in float16, bfloat16 or float32, not in int8")
