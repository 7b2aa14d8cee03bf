"""Settings from the environment, refused at the start where they make no sense."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shared.settings import DatabaseSettings, JwtSettings, ServerSettings, TelemetrySettings, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]", "unix:/tmp/socket"])
def test_no_authentication_on_loopback(host: str) -> None:
    """AC-1: mode none is for this machine."""
    assert is_loopback(host)
    assert ServerSettings(host=host).auth_mode == "none"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "10.0.0.1", "example.org", ""])
def test_no_authentication_refuses_any_other_address(host: str) -> None:
    """AC-1: mode none refuses to bind elsewhere."""
    with pytest.raises(ValidationError, match="loopback"):
        ServerSettings(host=host)
    assert ServerSettings(host=host, auth_mode="static", auth_grants_file=Path("grants")).host == host


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_DSN", "postgresql://user:secret@host/db")
    monkeypatch.setenv("PALIMPSEST_PORT", "50051")
    monkeypatch.setenv("PALIMPSEST_LOG_LEVEL", "DEBUG")
    assert DatabaseSettings().dsn == "postgresql://user:secret@host/db"
    assert "secret" not in repr(DatabaseSettings())
    assert ServerSettings().port == 50051
    assert TelemetrySettings().log_level == "DEBUG"


@pytest.mark.parametrize(
    "options",
    [
        {"tls_cert_file": Path("cert")},
        {"tls_key_file": Path("key")},
        {"tls_client_ca_file": Path("ca")},
        {"port": 70_000},
        {"max_concurrent_calls": 0},
        {"auth_mode": "static"},
        {"auth_mode": "jwt"},
        {"auth_mode": "jwt", "jwt": JwtSettings(issuer="i", keys="http://keys.example.org/set")},
        {"auth_mode": "jwt", "jwt": JwtSettings(issuer="i", keys="set.json", algorithms="RS256,HS256")},
        {"auth_mode": "jwt", "jwt": JwtSettings(issuer="i", keys="set.json", algorithms="none")},
        {"auth_mode": "jwt", "jwt": JwtSettings(issuer="i", keys="set.json", algorithms="")},
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ServerSettings(**options)


def test_a_database_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """SH-4: what to set is said."""
    monkeypatch.delenv("PALIMPSEST_DSN", raising=False)
    with pytest.raises(ValidationError, match="PALIMPSEST_DSN"):
        DatabaseSettings()
    with pytest.raises(ValidationError, match="POOL_MIN"):
        DatabaseSettings(dsn="postgresql://host", pool_min=3, pool_max=2)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        ServerSettings().port = 1  # type: ignore[misc]
