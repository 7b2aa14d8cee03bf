"""Domain packs, and strict mode."""

from functools import partial

import grpc
from palimpsest.v1.error_reason_pb2 import ERROR_REASON_SCHEMA_VIOLATION
from palimpsest.v1.namespace_pb2 import DomainPack, PackKind, PackRelation

from cli.conformance.building import entity, fact
from cli.conformance.expecting import expect, invalid, refused, same
from cli.conformance.probe import Probe
from cli.conformance.registry import tries

_PACK = DomainPack(
    pack="conformance",
    version=1,
    kinds=[
        PackKind(
            kind="issue",
            key_template="issue:<project>-<number>",
            kind_aliases=["ticket"],
            attributes_schema='{"type":"object","properties":{"points":{"type":"integer","maximum":100}},'
            '"additionalProperties":false}',
        ),
        PackKind(kind="person", key_template="person:<name>"),
    ],
    relations=[PackRelation(relation="ASSIGNED_TO", from_kinds=["issue"], to_kinds=["person"])],
)


@tries("DP-1")
def versions_never_change(probe: Probe) -> None:
    """A version is registered once and read as sent; other content under it, and built-in names, are refused."""
    place = probe.place()
    same([place.do("RegisterPack", pack=_PACK).duplicate for _ in range(2)], [False, True], "duplicates")
    same(place.ask("GetPack", pack="conformance", version=1).pack, _PACK, "the pack")
    other = DomainPack(pack="conformance", version=1, description="changed")
    refused(lambda: place.do("RegisterPack", pack=other), grpc.StatusCode.ALREADY_EXISTS, "PACK_VERSION_CONFLICT")
    same(place.ask("GetPack", pack="conformance").pack, _PACK, "the pack after a refusal")
    for name in ("default", "memory"):
        invalid(partial(place.do, "RegisterPack", pack=DomainPack(pack=name, version=9)), "pack.pack")
    listed = {each.pack for each in place.ask("ListPacks").packs}
    expect({"default", "memory", "conformance"} <= listed, f"the packs are {sorted(listed)}")


@tries("DP-2")
def strict_mode_refuses(probe: Probe) -> None:
    """In strict mode an unknown kind, a wrong attribute and a relation of wrong kinds fail by path; elsewhere none."""
    strict, free = probe.place(), probe.place()
    strict.enable(_PACK, strict=True)
    said = [
        entity("issue:OPS-1", title="Disk full", attributes='{"points": 5}'),
        entity("dragon:smaug", kind="dragon"),
        entity("issue:OPS-2", attributes='{"points": 500}'),
        fact("person:anna", "ASSIGNED_TO", "issue:OPS-1"),
        fact("issue:OPS-1", "ASSIGNED_TO", "person:anna"),
    ]
    failed = strict.say(*said).failed_assertions
    same([each.index for each in failed], [1, 2, 3], "the assertions that failed")
    same({each.error.reason for each in failed}, {ERROR_REASON_SCHEMA_VIOLATION}, "why they failed")
    for each in failed:
        paths = [violation.field for violation in each.error.violations]
        expect(paths and all(f"assertions[{each.index}]" in path for path in paths), f"the paths are {paths}")
    same(len(free.say(*said).failed_assertions), 0, "assertions that failed where no pack acts")
    same(strict.say(entity("issue:OPS-3", kind="ticket")).entity_keys[0], "issue:OPS-3", "the key")
    same(strict.entity("issue:OPS-3").kind, "issue", "the kind under another name of it")
