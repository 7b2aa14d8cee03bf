"""AC-1: mode jwt: which tokens are believed, and by which keys."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.authentication.caller import READ, WRITE
from shared.authentication.grants import Grants
from shared.authentication.jwt import Expected, JwtAuthenticator
from shared.authentication.key_set import (
    FETCHED_AT_MOST_EVERY_S,
    FETCHED_EVERY_S,
    FetchedKeys,
    FileKeys,
    fetching,
    parsed_keys,
)
from shared.authentication.watched_file import WatchedFile
from shared.errors import KeysUnavailable, Unauthenticated
from shared.telemetry import registry
from tests.unit.granting import entry, grants_file
from tests.unit.signing import AUDIENCE, ISSUER, Issuer

CLAIM = {"grants": [{"namespaces": ["demo"], "permissions": ["read"]}], "labels": ["role:lead"]}
EXPECTED = Expected(ISSUER, AUDIENCE, ("RS256", "ES256"), leeway_s=5)


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


def authenticator(folder: Path, issuer: Issuer, *key_ids: str, grants: Path | None = None) -> JwtAuthenticator:
    path = folder / "keys.json"
    path.write_bytes(issuer.key_set(*key_ids))
    file = WatchedFile(grants, Grants.parse, name="grants") if grants else None
    return JwtAuthenticator(FileKeys(path), EXPECTED, claim="palimpsest", grants=file)


async def refuses(authenticator: JwtAuthenticator, token: str) -> bool:
    try:
        await authenticator.authenticate({"authorization": f"Bearer {token}"})
    except Unauthenticated:
        return True
    return False


@pytest.mark.parametrize("key_id", ["r1", "e1"])
async def test_a_claim_says_what_its_caller_may_do(key_id: str, tmp_path: Path, issuer: Issuer) -> None:
    """AC-1: as an entry of the grants file would; the subject is its principal."""
    known = authenticator(tmp_path, issuer, "r1", "e1")
    token = issuer.token(key_id, palimpsest=CLAIM)
    caller = await known.authenticate({"authorization": f"Bearer {token}"})
    assert caller.subject == "ann"
    assert caller.labels == {"principal:ann", "role:lead"}
    assert (caller.may(READ, "demo"), caller.may(WRITE, "demo"), caller.sees_all) == (True, False, False)


async def test_a_grants_file_goes_before_the_claim(tmp_path: Path, issuer: Issuer) -> None:
    """AC-1: by subject; whom it does not name may do nothing, whatever its token claims."""
    known = authenticator(tmp_path, issuer, "r1", grants=grants_file(tmp_path, entry("ann", labels=["role:dev"])))
    ann = await known.authenticate({"authorization": f"Bearer {issuer.token(palimpsest=CLAIM)}"})
    assert (ann.may(WRITE, "demo"), ann.labels) == (True, {"role:dev", "principal:ann"})
    eve = await known.authenticate({"authorization": f"Bearer {issuer.token(sub='eve', palimpsest=CLAIM)}"})
    assert (eve.subject, eve.grants, eve.may(READ, "demo")) == ("eve", (), False)


def bad_tokens(issuer: Issuer) -> dict[str, str]:
    """Tokens of which one thing is wrong."""
    now, good = int(time.time()), issuer.token()
    head, body, signature = good.split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none","kid":"r1"}').decode().rstrip("=")
    symmetric = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"r1"}').decode().rstrip("=")
    mac = hmac.new(issuer.public_pem(), f"{symmetric}.{body}".encode(), hashlib.sha256).digest()
    return {
        "expired": issuer.token(exp=now - 6),
        "not yet": issuer.token(nbf=now + 60),
        "without end": issuer.token(exp=None),
        "without subject": issuer.token(sub=None),
        "empty subject": issuer.token(sub=""),
        "subject with a line break": issuer.token(sub="a\nb"),
        "subject of a mile": issuer.token(sub="a" * 300),
        "other issuer": issuer.token(iss="https://issuer.example.com"),
        "other audience": issuer.token(aud=["elsewhere"]),
        "without audience": issuer.token(aud=None),
        "other key": Issuer().token(),
        "unknown key id": issuer.token("r9"),
        "no key id among many": issuer.token(None),
        "unsigned": f"{unsigned}.{body}.",
        "signature cut off": f"{head}.{body}.",
        "signed with the public key": f"{symmetric}.{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}",
        "algorithm that is not allowed": issuer.token(algorithm="RS512"),
        "key of another kind": issuer.token("e1").replace(issuer.token("e1").split(".")[0], head),
        "body changed": f"{head}.{base64.urlsafe_b64encode(b'{}').decode()}.{signature}",
        "malformed claim": issuer.token(palimpsest={"grants": [{}]}),
        "no token at all": "a.b.c",
    }


async def test_what_is_wrong_with_a_token_is_refused(tmp_path: Path, issuer: Issuer) -> None:
    """AC-1: issuer, audience, times, signature and algorithm; an unsigned token, or one signed with what everybody
    knows, is nobody's."""
    known = authenticator(tmp_path, issuer, "r1", "e1")
    assert not await refuses(known, issuer.token())
    believed = [name for name, token in bad_tokens(issuer).items() if not await refuses(known, token)]
    assert believed == []


async def test_a_key_of_a_kind_that_is_not_allowed_is_no_key(tmp_path: Path, issuer: Issuer) -> None:
    """AC-1: whatever the issuer publishes, the operator says by which algorithms tokens may be signed."""
    path = tmp_path / "keys.json"
    path.write_bytes(issuer.key_set("r1", "e1"))
    expected = Expected(ISSUER, AUDIENCE, ("ES256",), leeway_s=5)
    known = JwtAuthenticator(FileKeys(path), expected, claim="palimpsest", grants=None)
    assert await refuses(known, issuer.token("r1"))
    assert not await refuses(known, issuer.token("e1"))


async def test_clocks_may_differ_by_the_leeway(tmp_path: Path, issuer: Issuer) -> None:
    """AC-1: a token that has just expired, or is about to hold, is taken."""
    known, now = authenticator(tmp_path, issuer, "r1"), int(time.time())
    assert not await refuses(known, issuer.token(exp=now - 1))
    assert not await refuses(known, issuer.token(nbf=now + 2))


async def test_without_a_key_id_the_only_key_is_meant(tmp_path: Path, issuer: Issuer) -> None:
    """AC-1: of several none is guessed."""
    assert not await refuses(authenticator(tmp_path, issuer, "r1"), issuer.token(None))


def test_keys_that_sign_nothing_are_left_out(issuer: Issuer) -> None:
    """AC-1: symmetric keys, keys for encryption, and what is no key; a set of nothing else is refused."""
    good = json.loads(issuer.key_set("r1"))["keys"][0]
    others: list[Any] = [{"kty": "oct", "k": "c2VjcmV0", "kid": "s"}, good | {"use": "enc", "kid": "x"}, {}, 1]
    assert list(parsed_keys(json.dumps({"keys": [*others, good]}).encode())) == ["r1"]
    for raw in (json.dumps({"keys": others}).encode(), b"[]", b'{"keys": {}}', b"{", b"\xff"):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong, it is no set of keys
            parsed_keys(raw)


class Published:
    """A key set at an address, that changes or goes away as a test says."""

    def __init__(self, raw: bytes) -> None:
        self.raw: bytes | None = raw
        self.fetches = 0
        self.now_s = 0.0
        self.keys = FetchedKeys(self._fetch, clock=lambda: self.now_s)

    def _fetch(self) -> bytes:
        self.fetches += 1
        if self.raw is None:
            raise OSError("unreachable")
        return self.raw

    async def knows(self, key_id: str) -> bool:
        return await self.keys.find(key_id) is not None

    async def settle(self) -> None:
        """Waits for what nobody waits for."""
        if self.keys._refreshing is not None:
            await self.keys._refreshing


async def test_a_new_key_is_fetched_when_a_token_names_it(issuer: Issuer) -> None:
    """AC-1: rotation: a new key is asked for, at a bounded rate, whatever ids tokens invent."""
    published = Published(issuer.key_set("r1"))
    assert await published.knows("r1")
    published.raw = issuer.key_set("r1", "r2")
    known = [await published.knows(f"r{number}") for number in range(2, 50)]
    assert (any(known), published.fetches) == (False, 1)
    published.now_s += FETCHED_AT_MOST_EVERY_S
    assert await published.knows("r2")
    assert published.fetches == 2
    assert registry.get_sample_value("palimpsest_key_set_fetches_total", {"outcome": "read"})


async def test_many_who_wait_for_keys_ask_once(issuer: Issuer) -> None:
    """AC-1: a service that starts under load asks its issuer once."""
    published = Published(issuer.key_set("r1"))
    assert all(await asyncio.gather(*(published.knows("r1") for _ in range(20))))
    assert published.fetches == 1


async def test_a_withdrawn_key_is_let_go(issuer: Issuer) -> None:
    """AC-1: rotation: after a bounded time a key that is published no more is believed no more."""
    published = Published(issuer.key_set("r1", "r2"))
    assert await published.knows("r1")
    published.raw = issuer.key_set("r2")
    published.now_s += FETCHED_EVERY_S
    assert await published.knows("r1"), "nobody waits while the keys are asked for again"
    await published.settle()
    assert not await published.knows("r1")


async def test_keys_stay_while_the_issuer_is_away(issuer: Issuer) -> None:
    """AC-1: an outage of the issuer is none of ours; and it is not asked at each call."""
    published = Published(issuer.key_set("r1"))
    assert await published.knows("r1")
    published.raw = None
    for _ in range(20):
        published.now_s += FETCHED_EVERY_S
        assert await published.knows("r1")
        await published.settle()
    fetches = published.fetches
    assert not await published.knows("r2")
    assert published.fetches == fetches


async def test_without_any_key_nobody_is_refused_for_good(issuer: Issuer) -> None:
    """AC-1: that keys cannot be had is no fault of the caller's, who may try again."""
    published = Published(b"")
    with pytest.raises(KeysUnavailable):
        await published.knows("r1")
    published.raw = issuer.key_set("r1")
    published.now_s += FETCHED_AT_MOST_EVERY_S
    assert await published.knows("r1")


@pytest.fixture
def serve_http() -> Any:
    """Answers HTTP on loopback, each path as the test says."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers[self.path](self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", answers
        server.shutdown()
        thread.join()


def body(raw: bytes) -> Callable[[Any], None]:
    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(raw)

    return answer


def test_keys_come_from_the_address_alone(serve_http: Any, issuer: Issuer) -> None:
    """AC-1: a set is read over HTTP; a redirection leads nowhere, and an endless answer is not read to its end."""
    address, answers = serve_http

    def redirect(handler: Any) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{address}/good")
        handler.end_headers()

    answers |= {"/good": body(issuer.key_set("r1")), "/moved": redirect, "/huge": body(b" " * (1024 * 1024 + 1))}
    assert list(parsed_keys(fetching(f"{address}/good", None)())) == ["r1"]
    for path in ("/moved", "/huge"):
        with pytest.raises((OSError, ValueError)):
            fetching(f"{address}{path}", None)()
