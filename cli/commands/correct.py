"""`palimpsest correct`: says that a fact was wrong from the start, and what is right."""

from typing import Annotated

import typer
from palimpsest.client import Client
from palimpsest.v1.fact_pb2 import Fact, FactAssertion, FactCorrection, FactObject, Literal
from palimpsest.v1.reader_service_pb2 import GetFactRequest
from palimpsest.v1.reference_pb2 import EntityRef
from palimpsest.v1.writer_service_pb2 import CorrectFactRequest

from cli.commands.obsolete import Reason
from cli.failure import ExitCode, Failure
from cli.options import Data, Json, Namespace, Target, connected, moment
from cli.output import say, say_json

_TIME = "TIME"


def correct(
    fact: Annotated[str, typer.Argument(help="Id of the wrong fact.")],
    namespace: Namespace = "default",
    entity: Annotated[str | None, typer.Option("--entity", metavar="KEY", help="The right object, an entity.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="The right object, a text.")] = None,
    valid_from: Annotated[str | None, typer.Option("--valid-from", metavar=_TIME, help="The right start.")] = None,
    valid_to: Annotated[str | None, typer.Option("--valid-to", metavar=_TIME, help="The right end.")] = None,
    only_wrong: Annotated[bool, typer.Option("--only-wrong", help="Nothing is right in its place.")] = False,
    reason: Reason = "",
    target: Target = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Correct a fact's value or dates. The wrong one was never true, and stays readable as what the memory believed.

    What is not given is taken over from the wrong fact.
    """
    given = [option for option in (entity, text, valid_from, valid_to) if option is not None]
    if only_wrong == bool(given):
        raise Failure("say what is right (--entity, --text, --valid-from, --valid-to) or --only-wrong", ExitCode.USAGE)
    if entity is not None and text is not None:
        raise Failure("--entity and --text: a fact has one object", ExitCode.USAGE)
    changes = FactAssertion(
        object=_object(entity, text),
        valid_from=moment(valid_from, "--valid-from"),
        valid_to=moment(valid_to, "--valid-to"),
    )
    correction = FactCorrection(fact_id=fact, reason=reason)
    with connected(target, data) as connection:
        if given:
            correction.replacement.CopyFrom(_replacement(connection.client, namespace, fact, changes))
        request = CorrectFactRequest(namespace=namespace, correction=correction)
        response = connection.client.writer.CorrectFact(request)
    if as_json:
        say_json(response)
    else:
        say(f"{response.fact.fact_id}: {response.fact.sentence}" if response.fact.fact_id else f"{fact} is wrong.")


def _object(entity: str | None, text: str | None) -> FactObject | None:
    if entity is not None:
        return FactObject(entity=EntityRef(key=entity))
    return FactObject(literal=Literal(text=text)) if text is not None else None


def _replacement(client: Client, namespace: str, fact_id: str, changes: FactAssertion) -> FactAssertion:
    """The wrong fact with what is changed."""
    wrong: Fact = client.reader.GetFact(GetFactRequest(namespace=namespace, fact_id=fact_id)).fact
    replacement = FactAssertion(
        subject=EntityRef(key=wrong.subject_key),
        predicate=wrong.predicate,
        object=changes.object if changes.HasField("object") else wrong.object,
        valid_from=wrong.valid_from if wrong.HasField("valid_from") else None,
        valid_to=wrong.valid_to if wrong.HasField("valid_to") else None,
        scopes=wrong.scopes,
        confidence=wrong.confidence,
        importance=wrong.importance,
        attributes=wrong.attributes,
    )
    for name in ("valid_from", "valid_to"):
        if changes.HasField(name):
            getattr(replacement, name).CopyFrom(getattr(changes, name))
    return replacement
