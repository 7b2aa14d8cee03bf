"""Tolerant decoding, on messages whose bytes are made by hand."""

import pytest
from google.protobuf.struct_pb2 import Struct
from palimpsest.v1.embedder_service_pb2 import EmbedRequest, EmbedResponse, StreamEmbedRequest
from palimpsest.v1.writer_service_pb2 import BatchRecordObservationsRequest

from shared import wire
from shared.errors import UndecodableMessage
from shared.validation import violations

LONE_SURROGATE = b"\xed\xa0\x80"


def delimited(number: int, content: bytes) -> bytes:
    assert len(content) < 16_384
    length = bytes([len(content)]) if len(content) < 128 else bytes([len(content) & 0x7F | 0x80, len(content) >> 7])
    return bytes([number << 3 | 2]) + length + content


def test_whole_messages_are_parsed_as_they_are() -> None:
    message = EmbedRequest(texts=["a", "ё"], input_type=1)
    assert wire.decode(EmbedRequest, message.SerializeToString()) == message


@pytest.mark.parametrize("broken", [LONE_SURROGATE, b"\xff", b"ok \xc3", b"\xf8\x88\x80\x80\x80", b"\xc0\x80"])
def test_broken_text_becomes_nul_of_the_same_length(broken: bytes) -> None:
    """OB-8: the field can be named, and the neighbours are whole."""
    raw = delimited(1, "до".encode()) + delimited(1, broken) + delimited(1, "после".encode()) + b"\x10\x02"
    message = wire.decode(EmbedRequest, raw)
    assert message.texts[0] == "до"
    assert message.texts[2] == "после"
    assert message.input_type == 2
    assert len(message.texts[1].encode()) == len(broken)
    assert "\0" in message.texts[1]


def test_text_inside_items_maps_and_submessages() -> None:
    """OB-6, OB-8: one bad string deep in one item of a batch leaves the other items as they were."""
    good = delimited(7, b"good")
    bad = delimited(1, delimited(1, b"git" + LONE_SURROGATE)) + good
    request = wire.decode(BatchRecordObservationsRequest, delimited(2, good) + delimited(2, bad))
    assert [item.content for item in request.observations] == ["good", "good"]
    found = violations(request.observations[1], "observations[1]")
    assert [violation.field for violation in found if violation.is_text] == ["observations[1].source.system"]


def test_map_keys_are_repaired() -> None:
    """OB-8: a map's entry is a message like any other."""
    raw = delimited(1, delimited(1, b"k\xff") + delimited(2, delimited(3, b"v\xff")))
    assert dict(wire.decode(Struct, raw)) == {"k\0": "v\0"}


def test_other_kinds_of_fields_are_skipped() -> None:
    """OB-8: varints, fixed numbers, bytes, unknown fields and groups lie around the broken text."""
    group = b"\x53" + delimited(1, b"\xff") + b"\x54"  # field 10: a group whose inside is no business of ours
    raw = b"\x08\xac\x02" + b"\x79" + b"\xff" * 8 + b"\x7d" + b"\xff" * 4 + group + delimited(9, b"\xff")
    message = wire.decode(StreamEmbedRequest, raw + delimited(2, b"x\xff"))
    assert (message.item_id, message.text) == (300, "x\0")
    result = delimited(1, delimited(1, b"\xff\xfe")) + delimited(2, delimited(2, b"m\xff"))
    response = wire.decode(EmbedResponse, delimited(1, result))
    assert response.results[0].error.message == "m\0"


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff",
        b"\x0a\x7fshort",
        b"\x0a",
        b"\x07",
        b"\x0a\x01\xff" + b"\x80" * 11,
        b"\x0a\x01\xff\x0c",
        b"\x0a\x01\xff\x0b",
        b"\x0a\x01\xff\x79\x00",
    ],
)
def test_what_is_not_protobuf_is_refused(raw: bytes) -> None:
    """OP-2: a clear refusal, whatever the bytes."""
    with pytest.raises(UndecodableMessage):
        wire.decode(EmbedRequest, raw)


def test_endless_nesting_is_refused() -> None:
    """OP-2: depth is bounded, as in protobuf itself."""
    raw = delimited(3, b"\xff")
    for _ in range(700):
        raw = delimited(1, delimited(2, delimited(5, raw)))
    with pytest.raises(UndecodableMessage):
        wire.decode(Struct, raw)


def test_the_walk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-1: a message of countless fields does not hold the event loop."""
    monkeypatch.setattr(wire, "_MOST_FIELDS", 10)
    with pytest.raises(UndecodableMessage):
        wire.decode(EmbedRequest, delimited(1, b"a") * 20 + delimited(1, b"\xff"))
