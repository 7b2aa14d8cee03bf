"""The three services, and their contract."""

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from palimpsest.v1 import embedder_service_pb2, reader_service_pb2, writer_service_pb2

from cli.conformance.building import entity, observation
from cli.conformance.expecting import expect, invalid, same
from cli.conformance.outcome import Unseen
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

_CONTRACTS = {"writer": writer_service_pb2, "reader": reader_service_pb2, "embedder": embedder_service_pb2}


@tries("SH-1")
def three_services(probe: Probe) -> None:
    """What the writer is told, the reader tells; the embedder says which model it serves."""
    place = probe.place()
    place.say(entity("thing:one", title="One"))
    same(place.entity("thing:one").title, "One", "the title that was written")
    model = probe.embedder.GetModel(embedder_service_pb2.GetModelRequest())
    expect(model.fingerprint.dimension, "the embedder serves a model without a dimension")


@tries("SH-5")
def the_contract_is_the_published_one(probe: Probe) -> None:
    """Reflection describes every RPC and field that this client knows, with the same numbers."""
    for name, contract in _CONTRACTS.items():
        address = getattr(probe.endpoints, name)
        [service] = contract.DESCRIPTOR.services_by_name.values()
        served = described(probe, address, service.full_name)
        for method in service.methods:
            expect(f"{service.full_name}.{method.name}" in served, f"{method.name} is not served")
            for message in (method.input_type, method.output_type):
                fields = {each.name: each.number for each in message.fields}
                found = served.get(message.full_name, {})
                expect(fields.items() <= found.items(), f"fields of {message.name} differ")


@tries("SH-5")
def limits_are_enforced(probe: Probe) -> None:
    """A kind with a space, 21 labels, 1,001 items a page and an enum value of nobody are refused with their paths."""
    place = probe.place()
    bad = observation("1", kind="NOT A KIND", scopes=[f"project:{number}" for number in range(21)])
    invalid(lambda: place.do("RecordObservation", observation=bad), "observation.kind", "observation.scopes")
    invalid(lambda: place.ask("ListEntities", page_size=1001), "page_size")
    invalid(lambda: place.ask("Search", query="x", mode=77), "mode")
    held = place.ask("GetNamespaceStatistics").statistics
    same(held.observations, 0, "observations after refusals")


def described(probe: Probe, address: str, symbol: str) -> dict[str, dict[str, int]]:
    """By full name the fields of each message, and each RPC, that reflection tells of a symbol and what it needs."""
    with probe.channel(address) as channel:
        stub = ServerReflectionStub(channel)
        request = ServerReflectionRequest(file_containing_symbol=symbol)
        try:
            answers = list(
                stub.ServerReflectionInfo(iter((request,)), metadata=probe.authorization, timeout=probe.patience_s)
            )
        except grpc.RpcError as error:
            raise Unseen(f"reflection is not served to this caller ({error.code().name})") from None
    files = [
        FileDescriptorProto.FromString(raw)
        for one in answers
        for raw in one.file_descriptor_response.file_descriptor_proto
    ]
    found: dict[str, dict[str, int]] = {}
    for file in files:
        for message in file.message_type:
            found[f"{file.package}.{message.name}"] = {each.name: each.number for each in message.field}
        for service in file.service:
            found |= {f"{file.package}.{service.name}.{method.name}": {} for method in service.method}
    return found
