"""AC-1: `palimpsest token` makes what mode static needs."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.credentials import credentials
from cli.failure import Failure
from cli.main import app
from shared.authentication.grants import Grants
from tests.unit.granting import grants, sha256


def made(*arguments: str) -> Any:
    """What the command prints."""
    result = CliRunner().invoke(app, ["token", *arguments, "--json"])
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


def test_the_entry_knows_the_token() -> None:
    """AC-1: only its hash is in the entry; each call makes another token."""
    first = made("ann", "-n", "team-*", "--permission", "read", "--permission", "write", "--label", "role:lead")
    entry = first["caller"]
    known = Grants.parse(grants(entry)).by_token[bytes.fromhex(sha256(first["token"]))].caller
    assert known.labels == {"role:lead", "principal:ann"}
    assert (known.may("write", "team-a"), known.may("admin", "team-a")) == (True, False)
    assert first["token"] not in json.dumps(entry)
    assert made("ann", "-n", "team-*")["token"] != first["token"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["ann", "-n", "a", "--label", "project:x"],
        ["ann", "-n", "a", "--permission", "own"],
        ["ann", "-n", "a", "--expires", "tomorrow"],
        ["ann", "-n", "a", "--expires", "2027-01-01T00:00:00"],
        ["", "-n", "a"],
    ],
)
def test_what_a_service_would_refuse_is_refused(arguments: list[str]) -> None:
    """AC-1: before it is in a file."""
    with pytest.raises(Failure):
        made(*arguments)


def test_credentials_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """AC-1: TLS where anything asks for it."""
    for name in ("TOKEN", "TOKEN_FILE", "CLIENT_TLS", "CLIENT_CA_FILE"):
        monkeypatch.delenv(f"PALIMPSEST_{name}", raising=False)
    assert credentials() == {"token": None, "token_file": None, "tls": None, "plaintext_token": False}
    monkeypatch.setenv("PALIMPSEST_TOKEN_FILE", "/run/token")
    monkeypatch.setenv("PALIMPSEST_CLIENT_CA_FILE", "/run/ca.pem")
    found = credentials()
    assert (found["token_file"], found["tls"].ca_file) == ("/run/token", "/run/ca.pem")
    monkeypatch.delenv("PALIMPSEST_CLIENT_CA_FILE")
    monkeypatch.setenv("PALIMPSEST_CLIENT_TLS", "1")
    assert credentials()["tls"].ca_file is None
