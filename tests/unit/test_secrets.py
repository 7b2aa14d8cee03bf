"""CP-3: what is a secret goes whole; what is none stays."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.writer.capture.secrets import scrubbed

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\nabcdEFGH1234567890/+==\n"
SECRETS = [
    ('password = "hunter2hunter"', 'password = "[secret:password]"', "hunter2"),
    ("api_key=abcd1234efgh5678, ok", "api_key=[secret:password], ok", "abcd1234"),
    ("Пароль: qwerty123", "Пароль: [secret:password]", "qwerty"),
    ("токен = ab12cd34ef", "токен = [secret:password]", "ab12"),
    ("key AKIAIOSFODNN7EXAMPLE.", "key [secret:awskey].", "AKIA"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789 x", "[secret:git-hub-token] x", "abcdef"),
    ("glpat-abcdefghij1234567890 z", "[secret:git-lab-token] z", "abcdef"),
    ("https://user:s3cretpw@host/x", "https://user:[secret:basic-auth]@host/x", "s3cret"),
    ("a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN b", "a [secret:jwt-token] b", "dozjg"),
    ("bot 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawA x", "bot [secret:telegram-bot-token] x", "AAHdq"),
    ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [secret:password]", "abcdef"),
    (f"{KEY}-----END RSA PRIVATE KEY-----\nhello", "[secret:private-key]\nhello", "MIIE"),
    (f"{KEY}\nhello", "[secret:private-key]\n\nhello", "abcdEFGH"),
]
ORDINARY = [
    "The password: please reset it tomorrow.",
    "passwords: 12",
    "пароль от сервера знает Анна; пароли: как выбрать, 10 советов",
    "commit 0123456789abcdef0123456789abcdef01234567",
    '"0123456789abcdef0123456789abcdef01234567"',
    "Server 8.8.8.8 and 10.0.0.1, OPS-17, v2.4.1",
    "secret: see ticket OPS-17",
    'if token == "yes": return',
    "the token=5 budget",
    "Secretary: Anna17",
    "Мы решили, что отчёты по проекту «Альфа» выходят по понедельникам.",
    "-----BEGIN CERTIFICATE-----",
]


@pytest.mark.parametrize(("text", "left", "part"), SECRETS)
def test_a_secret_goes_whole(text: str, left: str, part: str) -> None:
    """CP-3: a placeholder names its kind, and no part of it is left."""
    found = scrubbed(text)
    assert found.text == left
    assert part not in found.text
    assert len(found.kinds) == 1


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrubbed(text) == (text, ())


@given(st.lists(st.one_of(st.sampled_from([text for text, _, _ in SECRETS]), st.sampled_from(ORDINARY), st.text())))
def test_scrubbing_again_changes_nothing(parts: list[str]) -> None:
    """OB-3: what was scrubbed is the same however often it is sent."""
    once = scrubbed("\n".join(parts)).text
    assert scrubbed(once) == (once, ())


def test_a_secret_is_found_wherever_it_stands() -> None:
    """CP-3: long texts are looked at in parts, none of which hides one."""
    for before in range(3_500, 4_200, 29):
        found = scrubbed("слово " * (before // 6) + " " * (before % 6) + SECRETS[5][0] + " and more" * 600)
        assert found.kinds == ("git-hub-token",)
        assert "ghp_" not in found.text


@pytest.mark.parametrize("unit", ["password `", "://a:", "token  ", "-----BEGIN PRIVATE KEY-----"])
def test_no_text_takes_long(unit: str) -> None:
    """OP-1: a message of strangers does not hold the writer up: time grows with its length alone."""
    text = unit * ((1 << 18) // len(unit))
    begun = time.process_time()
    scrubbed(text)
    assert time.process_time() - begun < 15
