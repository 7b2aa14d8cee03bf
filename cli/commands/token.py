"""`palimpsest token`: makes a bearer token, and the entry of the grants file that knows it."""

import hashlib
import json
import secrets
from datetime import datetime
from typing import Annotated, Any

import typer

from cli.failure import ExitCode, Failure
from cli.options import Json
from cli.output import note, say, say_json

# Told apart from other secrets, by people and by programs that look for secrets where none belong.
_PREFIX = "plm_"
_RANDOM_BYTES = 32


def token(
    subject: Annotated[str, typer.Argument(help="Who will call: a person, an agent or a service.")],
    namespace: Annotated[
        list[str], typer.Option("--namespace", "-n", help="Where it may; 'team-*' for all that begin so. Repeatable.")
    ],
    permission: Annotated[
        list[str] | None, typer.Option("--permission", help="read, write or admin. Repeatable.  [default: read]")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="principal:…, workspace:… or role:… that it holds. Repeatable.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", help="Its agent id, for rules that are meant for one agent.")] = "",
    clearance: Annotated[list[str] | None, typer.Option("--clearance", help="pii. Repeatable.")] = None,
    sees_all: Annotated[bool, typer.Option("--sees-all", help="Labels hide nothing from it.")] = False,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="When the token ends (RFC 3339).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a bearer token, and what the services have to know of it.

    The token is shown once and kept nowhere: give it to who calls. The entry goes into the "callers" of the file that
    PALIMPSEST_AUTH_GRANTS_FILE names, where it acts within a second.
    """
    made = _PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    entry = _entry(
        subject=subject,
        tokens=[_token_entry(made, expires)],
        grants=[{"namespaces": namespace, "permissions": permission or ["read"]}],
        labels=label,
        agent_id=agent,
        clearances=clearance,
        sees_all=sees_all,
    )
    if as_json:
        say_json({"token": made, "caller": entry})
        return
    note("The token, which is shown only now:")
    say(made)
    note('Its entry among the "callers" of the grants file:')
    say(json.dumps(entry, indent=2, ensure_ascii=False))


def _token_entry(made: str, expires: str | None) -> dict[str, str]:
    hashed = {"sha256": hashlib.sha256(made.encode()).hexdigest()}
    if expires is None:
        return hashed
    try:
        moment = datetime.fromisoformat(expires)
    except ValueError:
        raise Failure("--expires: must be a time like 2027-01-01T00:00:00Z", ExitCode.USAGE) from None
    return hashed | {"expires_at": moment.isoformat()}


def _entry(**fields: Any) -> dict[str, Any]:
    """The entry, less what says nothing. Raises Failure where a service would refuse it."""
    from shared.authentication.grants import Grants, GrantsError

    entry = {name: value for name, value in fields.items() if value}
    try:
        Grants.parse(json.dumps({"callers": [entry]}).encode())
    except GrantsError as error:
        raise Failure(str(error).removeprefix("callers[0]."), ExitCode.USAGE) from None
    return entry
