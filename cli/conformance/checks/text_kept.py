"""Text and numbers, kept as they came (OB-8)."""

import grpc
from palimpsest.v1.fact_pb2 import Literal
from palimpsest.v1.reader_service_pb2 import GetNamespaceStatisticsRequest
from palimpsest.v1.writer_service_pb2 import RecordObservationRequest, RecordObservationResponse

from cli.conformance.building import document, fact, observation
from cli.conformance.expecting import expect, invalid, same
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

_TEXT = "е\u0308лка Ёлка\u200b\u00adА\u00a0Б \r\n\t «кавычки» 𝔘𝔫𝔦 \u202ei"
_NUMBERS = (
    '{"big": 9007199254740993, "bigger": 123456789012345678901234567890, "exact": 0.10, "huge": 1e400, "é": "\\u00e9"}'
)


@tries("OB-8")
def bytes_stay(probe: Probe) -> None:
    """Decomposed letters, zero widths, line ends and integers beyond 2^53 come back to the byte."""
    place = probe.place()
    said = observation("1", content=_TEXT, data=_NUMBERS)
    stored = place.ask("GetObservation", observation_id=place.record(said).observation_id).observation.observation
    same(stored.content, _TEXT, "the content")
    same(stored.data, _NUMBERS, "the data")
    number = fact("a:a", "COUNTS", Literal(integer=2**53 + 1))
    exact = fact("a:a", "WEIGHS", Literal(decimal="12345678901234567890.1234567890123456789"))
    ids = place.say(number, exact).fact_ids
    same(place.fact(ids[0]).object.literal.integer, 2**53 + 1, "an integer of 54 bits")
    expect(
        place.fact(ids[1]).object.literal.decimal.startswith("12345678901234567890.12345678901234567"),
        "digits are lost",
    )


@tries("OB-8")
def what_is_no_text_is_refused(probe: Probe) -> None:
    """NUL, lone surrogates, also escaped, and keys that come twice are refused with the field's path."""
    place = probe.place()
    nul = observation("1", content="a\x00b")
    invalid(lambda: place.record(nul), "observation.content", reason="INVALID_TEXT")
    for data in ('{"a": "\\ud800"}', '{"a": 1, "a": 2}', '{"a": "\\u0000"}', "{"):
        bad = observation("2", data=data)
        try:
            place.record(bad)
        except grpc.RpcError as error:
            same(error.code().name, "INVALID_ARGUMENT", "the answer to data that is no JSON")
        else:
            expect(False, "data with a lone surrogate, a NUL or a key that comes twice was taken")
    request = RecordObservationRequest(namespace=place.name, observation=observation("3", content="@@@"))
    raw = request.SerializeToString().replace(b"@@@", b"\xed\xa0\x80")
    with probe.channel(probe.endpoints.writer) as channel:
        call = channel.unary_unary(
            "/palimpsest.v1.WriterService/RecordObservation",
            request_serializer=bytes,
            response_deserializer=RecordObservationResponse.FromString,
        )
        invalid(
            lambda: call(raw, metadata=probe.authorization, timeout=30), "observation.content", reason="INVALID_TEXT"
        )
    statistics = probe.client.reader.GetNamespaceStatistics(GetNamespaceStatisticsRequest(namespace=place.name))
    same(statistics.statistics.observations, 0, "observations after refusals")


@tries("OB-8")
def compared_in_a_normal_form(probe: Probe) -> None:
    """«Ёлка» with marks that nobody sees is found by "елка", in either form."""
    place = probe.place()
    place.say(document("doc:tree", "Сос\u00adна и Е\u0308л\u200bка стоят во дворе."))
    for query in ("елка", "ЁЛКА", "е\u0308лка", "сосна"):
        found = place.found(query, mode="SEARCH_MODE_LEXICAL", keep_irrelevant=True)
        expect("chunk:doc:tree#0" in found, "a word in another form of writing is not found")
