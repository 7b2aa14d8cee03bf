"""Passes of curation, for tests."""

from __future__ import annotations

from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1 import writer_service_pb2 as pb
from palimpsest.v1.entity_pb2 import DuplicateProposal
from palimpsest.v1.reader_service_pb2_grpc import ReaderServiceStub

from tests.integration.writing import NAMESPACE, Writer


async def curate(
    writer: Writer, *, namespace: str = NAMESPACE, max_items: int = 0, whole: bool = True
) -> pb.RunCurationResponse:
    """One call, which is expected to be a whole pass unless told otherwise."""
    request = pb.RunCurationRequest(namespace=namespace, max_items=max_items)
    response: pb.RunCurationResponse = await writer.stub.RunCuration(request)
    assert response.done or not whole
    return response


async def proposals(reader: ReaderServiceStub, namespace: str = NAMESPACE, **fields: object) -> list[DuplicateProposal]:
    """The first page of proposals."""
    request = reads.ListDuplicateProposalsRequest(namespace=namespace, **fields)  # type: ignore[arg-type]
    return list((await reader.ListDuplicateProposals(request)).proposals)


async def decide(writer: Writer, proposal: DuplicateProposal | str, decision: int) -> DuplicateProposal:
    """Decides a proposal."""
    proposal_id = proposal if isinstance(proposal, str) else proposal.proposal_id
    request = pb.DecideDuplicateRequest(
        namespace=NAMESPACE,
        proposal_id=proposal_id,
        decision=decision,  # type: ignore[arg-type]
        reason="tests",
    )
    return (await writer.stub.DecideDuplicate(request)).proposal
