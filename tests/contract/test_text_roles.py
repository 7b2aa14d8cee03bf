"""PR-1: every string of every answer is masked, unless the contract says on its field that servers made it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from palimpsest.v1 import limits_pb2
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as writes

from shared.authentication.caller import Caller, acting_as
from shared.interceptors.personal_data import PersonalData
from shared.interceptors.pipeline import Requests
from shared.interceptors.strings import TOKEN, roles
from shared.personal_data.protection import Protection

EMAIL = "ivan@example.com"
TOKENS = {
    "active_fingerprint",
    "audit_hash",
    "consistency_token",
    "content_hash",
    "content_salt",
    "cursor",
    "digest",
    "erased_key_hash",
    "fact_id",
    "fact_ids",
    "fingerprint",
    "hash",
    "next_page_token",
    "observation_id",
    "observation_ids",
    "other_fact_id",
    "pack_id",
    "previous_hash",
    "proposal_id",
    "receipt_id",
    "rival_fact_ids",
    "superseded_by",
    "supersedes",
    "tables",
    "trace_id",
    "vault_run_id",
}
"""Names of fields that are never masked: digests, numbers and positions."""


OF_NO_NAMESPACE = {
    "ListNamespaces",
    "GetEmbeddingStatus",
    "StartReembedding",
    "SwitchEmbedding",
    "RollbackEmbedding",
    "DropEmbedding",
}
"""They tell names of namespaces and models, and nothing that is stored in any."""


class OnEverywhere:
    """Protection of every namespace."""

    async def of(self, namespace: str, **options: Any) -> Protection:
        return Protection(is_on=True, namespace=namespace, secret=b"secret")

    async def declared(self, namespace: str, **options: Any) -> dict[str, str]:
        return {}


def methods() -> list[Any]:
    """All RPCs of both services."""
    services = (reads.DESCRIPTOR.services_by_name["ReaderService"], writes.DESCRIPTOR.services_by_name["WriterService"])
    return [method for service in services for method in service.methods]


def asked(method: Any) -> Any:
    """A request about a namespace; None where the RPC is about none."""
    if method.client_streaming:
        return SimpleNamespace(namespaces={"demo"})
    if "namespace" not in method.input_type.fields_by_name:
        return None
    return message_factory.GetMessageClass(method.input_type)(namespace="demo")


def reachable(descriptor: Any, seen: set[str]) -> Iterator[Any]:
    """The message type and all inside it."""
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    yield descriptor
    for field in descriptor.fields:
        if field.message_type is not None and not field.message_type.full_name.startswith("google.protobuf"):
            yield from reachable(field.message_type, seen)


def test_what_is_never_masked() -> None:
    """PR-1: who exempts a field from masking changes this test. Run with `-s` to read the whole list."""
    seen: set[str] = set()
    types = [each for method in methods() for each in reachable(method.output_type, seen)]
    exempt = sorted(name for each in types for name, role in roles(each).items() if role == TOKEN)
    exempt += sorted(
        field.full_name
        for each in types
        for field in each.fields
        if field.message_type is not None and field.GetOptions().Extensions[limits_pb2.text_role] == TOKEN
    )
    print(*exempt, sep="\n")
    assert {name.rpartition(".")[2] for name in exempt} <= TOKENS


def filled(descriptor: Any, chance: Random, depth: int = 0) -> Any:
    """A message in which every string is personal, keys of maps too; of a oneof some member."""
    made: Any = message_factory.GetMessageClass(descriptor)()
    chosen = {oneof.name: chance.choice(list(oneof.fields)) for oneof in descriptor.oneofs}
    for field in descriptor.fields:
        if field.containing_oneof is not None and chosen[field.containing_oneof.name] != field:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _fill_map(getattr(made, field.name), field)
        elif field.type == FieldDescriptor.TYPE_STRING:
            _put(made, field, f"x {EMAIL}" if not _is_json(field) else f'{{"{EMAIL}": "{EMAIL}"}}')
        elif field.message_type is not None and depth < 7 and field.message_type.file.package != "google.protobuf":
            _put(made, field, filled(field.message_type, chance, depth + 1))
    return made


def _fill_map(values: Any, field: Any) -> None:
    entry = field.message_type.fields_by_name
    if entry["key"].type == FieldDescriptor.TYPE_STRING:
        values[EMAIL] = EMAIL if entry["value"].type == FieldDescriptor.TYPE_STRING else 1


def _put(made: Any, field: Any, value: Any) -> None:
    if field.is_repeated:
        getattr(made, field.name).append(value)
    elif field.message_type is not None:
        getattr(made, field.name).CopyFrom(value)
    else:
        setattr(made, field.name, value)


def _is_json(field: Any) -> bool:
    return bool(field.GetOptions().Extensions[limits_pb2.limits].json)


def left(message: Any) -> Iterator[str]:
    """Names of the fields that hold the value still."""
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for each in value if field.is_repeated else [value]:
                yield from left(each)
        elif EMAIL in str(value):
            yield field.name


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.full_name)
async def test_every_string_of_an_answer_is_masked(method: Any) -> None:
    """PR-1: whatever an RPC answers, also one that does not exist yet: it is known by its descriptor alone."""
    guard = PersonalData(OnEverywhere(), audited=None)  # type: ignore[arg-type]
    caller = Caller(subject="uncleared")
    request = asked(method)
    if request is None:
        assert method.name in OF_NO_NAMESPACE
        return
    for seed in range(6):
        answer = filled(method.output_type, Random(seed))
        with acting_as(caller):
            await guard.answered(method.full_name, request, answer)
        assert set(left(answer)) <= TOKENS, method.full_name


@pytest.mark.parametrize(
    "method", [each for each in methods() if each.client_streaming], ids=lambda method: method.full_name
)
async def test_a_stream_tells_its_namespace(method: Any) -> None:
    """PR-1: in each of its messages, or in the head of the first."""

    async def messages() -> AsyncIterator[Any]:
        for seed in range(20):
            yield filled(method.input_type, Random(seed))

    requests = Requests(messages())
    assert [each async for each in requests]
    assert requests.namespaces == {f"x {EMAIL}"}
