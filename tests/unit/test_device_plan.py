"""EM-1: what is tried on which device, told from a description of it."""

import pytest

from services.embedder.backends.device_plan import (
    Device,
    Variant,
    automatic_dtype,
    batch_ladder,
    dtypes,
    may_compile,
    usual_batch_tokens,
    variants,
)

CPU = Device("cpu", "cpu")
AMX = Device("cpu", "cpu", has_bfloat16=True)
MPS = Device("mps", "mps")
PASCAL, VOLTA, AMPERE = (Device("cuda", "cuda:0", capability=each) for each in ((6, 1), (7, 0), (8, 6)))
OPEN = {"dtype": "auto", "runtime": "auto", "compiled": "auto"}


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (CPU, ("float32",)),
        (AMX, ("float32", "bfloat16")),
        (MPS, ("float32", "float16")),
        (PASCAL, ("float32",)),
        (VOLTA, ("float32", "float16")),
        (AMPERE, ("float32", "float16", "bfloat16")),
    ],
)
def test_types_are_tried_that_the_device_has_units_for(device, expected):
    """EM-1: the most precise first, which the others are held against."""
    assert dtypes(device) == expected
    ways = variants(device, **OPEN)
    assert tuple(way.dtype for way in ways if way.runtime == "torch") == expected
    assert ways[0] == Variant()


def test_onnx_is_tried_on_the_processor_alone():
    """EM-1: where it is faster."""
    assert [device for device in (CPU, AMX, MPS, AMPERE) if Variant("onnx") in variants(device, **OPEN)] == [CPU, AMX]
    for changes in ({"runtime": "torch"}, {"dtype": "bfloat16"}, {"compiled": "on"}):
        assert all(way.runtime == "torch" for way in variants(AMX, **OPEN | changes))


@pytest.mark.parametrize(
    ("device", "changes", "expected"),
    [
        (AMPERE, {"dtype": "bfloat16"}, [Variant("torch", "bfloat16")]),
        (AMPERE, {"dtype": "float32", "compiled": "on"}, [Variant("torch", "float32", True)]),
        (CPU, {"runtime": "onnx"}, [Variant("onnx")]),
        (CPU, {"dtype": "int8"}, [Variant("onnx", "int8")]),
        (CPU, {"dtype": "float32", "runtime": "torch"}, [Variant()]),
        (MPS, {"dtype": "float16"}, [Variant("torch", "float16")]),
    ],
)
def test_settings_leave_no_choice_open(device, changes, expected):
    """EM-1: each choice can be set."""
    assert variants(device, **OPEN | changes) == expected


@pytest.mark.parametrize(
    ("device", "changes", "message"),
    [
        (AMPERE, {"runtime": "onnx"}, "processor alone"),
        (MPS, {"dtype": "int8"}, "processor alone"),
        (CPU, {"runtime": "onnx", "dtype": "bfloat16"}, "float32 or int8"),
        (CPU, {"runtime": "onnx", "compiled": "on"}, "only torch compiles"),
        (CPU, {"runtime": "torch", "dtype": "int8"}, "not in int8"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(device, changes, message):
    """EM-1: rather than something else than what was asked for."""
    with pytest.raises(ValueError, match=message):
        variants(device, **OPEN | changes)


def test_compiling_is_tried_on_cuda_alone():
    """EM-1: where it can pay."""
    assert [device for device in (CPU, AMX, MPS, PASCAL, VOLTA, AMPERE) if may_compile(device, "auto")] == [
        VOLTA,
        AMPERE,
    ]
    assert not may_compile(AMPERE, "off")


def test_what_is_taken_on_trust_suits_the_device():
    """EM-1: where nothing is measured."""
    taken = [automatic_dtype(device, "auto") for device in (CPU, AMX, MPS, PASCAL, AMPERE)]
    assert taken == ["float32", "float32", "float32", "float32", "float16"]
    assert automatic_dtype(AMPERE, "bfloat16") == "bfloat16"
    for device in (CPU, MPS, AMPERE):
        assert list(batch_ladder(device)) == sorted(batch_ladder(device))
        assert usual_batch_tokens(device) in batch_ladder(device)
