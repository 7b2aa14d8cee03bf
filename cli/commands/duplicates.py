"""`palimpsest duplicates`: entities that look like one, and what people decide of them."""

from enum import StrEnum
from typing import Annotated

import typer
from palimpsest.v1.entity_pb2 import DuplicateProposal, DuplicateState
from palimpsest.v1.reader_service_pb2 import ListDuplicateProposalsRequest
from palimpsest.v1.writer_service_pb2 import DecideDuplicateRequest

from cli.commands.obsolete import Reason
from cli.failure import EXIT_CODES_HELP, ExitCode
from cli.options import Data, Json, Namespace, Target, connected
from cli.output import note, say, say_json, say_table, when
from cli.pages import items_of

duplicates = typer.Typer(
    help="See which entities may be one, and decide: nothing is ever merged by likeness.", no_args_is_help=True
)

Proposal = Annotated[str, typer.Argument(help="Id of a proposal, as 'duplicates list' shows it.")]


class State(StrEnum):
    """What became of a proposal."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    UNDONE = "undone"


@duplicates.command("list", epilog=EXIT_CODES_HELP)
def list_duplicates(
    namespace: Namespace = "default",
    state: Annotated[State, typer.Option("--state", help="What became of them.")] = State.PROPOSED,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most proposals.")] = 100,
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List proposed duplicates, likeliest first."""
    request = ListDuplicateProposalsRequest(namespace=namespace, state=f"DUPLICATE_STATE_{state.name}")
    with connected(target, data) as connection:
        found = list(items_of(connection.client.reader.ListDuplicateProposals, request, "proposals", limit))
    if as_json:
        for proposal in found:
            say_json(proposal)
    elif found:
        say_table(("proposal", "likeness", "since", "why", "entities"), map(_row, found))
    if not found:
        note("No proposals.")
        raise typer.Exit(ExitCode.NOTHING)


def _deciding(name: str, decision: str, what: str) -> None:
    """Adds the command that says `decision` of a proposal."""

    @duplicates.command(name, help=what, epilog=EXIT_CODES_HELP)
    def decide(
        proposal: Proposal,
        namespace: Namespace = "default",
        reason: Reason = "",
        target: Target = None,
        data: Data = None,
        as_json: Json = False,
    ) -> None:
        request = DecideDuplicateRequest(
            namespace=namespace, proposal_id=proposal, decision=f"DUPLICATE_DECISION_{decision}", reason=reason
        )
        with connected(target, data) as connection:
            decided = connection.client.writer.DecideDuplicate(request).proposal
        if as_json:
            say_json(decided)
        else:
            say(f"{decided.second_key} and {decided.first_key}: {_state(decided)}")


_deciding("confirm", "CONFIRM", "The two are one: the second answers as the first from now on. Can be undone.")
_deciding("refuse", "REFUSE", "The two are not one; they are never proposed again.")
_deciding("undo", "UNDO", "Take a confirmation back: each answers as itself again.")


def _state(proposal: DuplicateProposal) -> str:
    return DuplicateState.Name(proposal.state).removeprefix("DUPLICATE_STATE_").lower()


def _row(proposal: DuplicateProposal) -> tuple[str, ...]:
    keys = f"{proposal.first_key}  {proposal.second_key}"
    return (proposal.proposal_id, f"{proposal.score:.2f}", when(proposal.proposed_at), proposal.reason, keys)
