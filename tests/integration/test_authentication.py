"""AC-1: tokens, TLS and grants through real sockets, from the client library to the services."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from palimpsest.client import AsyncClient, Tls
from palimpsest.errors import details_of
from palimpsest.v1 import reader_service_pb2 as reads
from palimpsest.v1.embedder_service_pb2 import GetModelRequest
from palimpsest.v1.embedder_service_pb2_grpc import EmbedderServiceStub

from services.embedder.service import NAME as EMBEDDER
from services.embedder.service import build_service as build_embedder
from services.embedder.settings import EmbedderSettings
from services.reader.service import build_service as build_reader
from services.reader.settings import ReaderSettings
from shared.authentication.watched_file import CHECKED_EVERY_S
from shared.embedder_channel import EmbedderAccess, embedder_channel
from shared.settings import DatabaseSettings, JwtSettings
from tests.integration.conftest import bundled_backend
from tests.integration.reader_seed import seeding
from tests.integration.serving import running
from tests.integration.test_server_lifecycle import make_certificate
from tests.integration.writing import observation, serving, writing
from tests.unit.granting import entry, grants_file
from tests.unit.signing import AUDIENCE, ISSUER, Issuer

READS = [{"namespaces": ["demo", "shared/*"], "permissions": ["read"]}]


@asynccontextmanager
async def reader_of(dsn: str, token: str | None = None, **settings: Any) -> AsyncIterator[AsyncClient]:
    """A client of a reader that asks for credentials."""
    made = ReaderSettings(database=DatabaseSettings(dsn=dsn))
    async with serving(build_reader(made), **settings) as target, AsyncClient(target, token=token) as client:
        yield client


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), details_of(caught.value).reason


async def test_a_caller_sees_the_namespaces_of_its_grants(dsn: str, tmp_path: Path) -> None:
    """AC-1, NS-1: others answer PERMISSION_DENIED, whether they are there or not, and are in no list."""
    for namespace in ("demo", "shared/a", "shared/b", "other"):
        async with seeding(dsn, namespace) as seed:
            await seed.note("1", "text")
    grants = grants_file(tmp_path, entry("ann", "token", grants=READS))
    async with reader_of(dsn, "token", auth_mode="static", auth_grants_file=grants) as client:
        listed = await client.reader.ListNamespaces(reads.ListNamespacesRequest())
        assert list(listed.namespaces) == ["demo", "shared/a", "shared/b"]
        for namespace in ("other", "nowhere", "share"):
            denied = (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
            assert await refused(client.search(namespace, "text")) == denied
        assert (await client.search("shared/a", "text", keep_irrelevant=True)).hits


async def test_what_is_private_is_its_callers(dsn: str, tmp_path: Path) -> None:
    """AC-1, AC-5: each caller holds its own principal without being given it."""
    async with seeding(dsn) as seed:
        await seed.note("1", "private text", scopes=["principal:ann"])
    grants = grants_file(tmp_path, entry("ann", "a", grants=READS), entry("bob", "b", grants=READS))
    async with reader_of(dsn, auth_mode="static", auth_grants_file=grants) as client:
        found = []
        for token in ("a", "b"):
            request = reads.SearchRequest(namespace="demo", query="private", keep_irrelevant=True)
            answer = await client.reader.Search(request, metadata=(("authorization", f"Bearer {token}"),))
            found.append(len(answer.hits))
    assert found == [1, 0]


async def test_signed_tokens_end_to_end(dsn: str, tmp_path: Path) -> None:
    """AC-1: mode jwt by its settings: keys from a file, grants from the claim."""
    issuer, keys = Issuer(), tmp_path / "keys.json"
    keys.write_bytes(issuer.key_set("r1"))
    jwt = JwtSettings(issuer=ISSUER, audience=AUDIENCE, keys=str(keys))
    token = issuer.token(palimpsest={"grants": READS})
    async with reader_of(dsn, token, auth_mode="jwt", jwt=jwt) as client:
        assert not (await client.search("demo", "text")).hits
        assert (await refused(client.search("other", "text")))[1] == "PERMISSION_DENIED"
    async with reader_of(dsn, issuer.token(exp=1), auth_mode="jwt", jwt=jwt) as client:
        assert (await refused(client.search("demo", "text")))[1] == "UNAUTHENTICATED"


async def test_a_renewed_token_file_is_read_again(dsn: str, tmp_path: Path) -> None:
    """AC-1: a client goes on with the new token, and with the former one while there is no file."""
    grants = grants_file(tmp_path, entry("ann", "t1", "t2", grants=READS))
    file, options = tmp_path / "token", {"auth_mode": "static", "auth_grants_file": grants}
    file.write_text("t1\n")
    made = ReaderSettings(database=DatabaseSettings(dsn=dsn))
    async with serving(build_reader(made), **options) as target, AsyncClient(target, token_file=file) as client:
        await client.search("demo", "text")
        file.unlink()
        await client.search("demo", "text")
        file.write_text("wrong")
        assert (await refused(client.search("demo", "text")))[1] == "UNAUTHENTICATED"
        file.write_text("t2")
        await client.search("demo", "text")


@pytest.mark.parametrize("content", [None, "", " \n", "two\nlines", "токен"])
def test_a_token_file_without_a_token_is_refused(content: str | None, tmp_path: Path) -> None:
    """AC-1: at the start, not at each call."""
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises((OSError, ValueError)):
        AsyncClient("localhost:1", token_file=file)
    with pytest.raises(ValueError, match="exclude"):
        AsyncClient("localhost:1", token="a", token_file=file)


async def test_a_renewed_certificate_is_served_without_a_restart(tmp_path: Path) -> None:
    """AC-1: new connections get it; clients that trust only the former one are served no more."""
    (cert, key), (new_cert, new_key) = (make_certificate(tmp_path, name) for name in ("first", "second"))
    async with running(tls_cert_file=cert, tls_key_file=key) as server:
        first, second = (Tls(ca_file=shutil.copy(file, f"{file}.ca")) for file in (cert, new_cert))
        assert await is_served(server.port, first)
        shutil.copy(new_key, key)
        shutil.copy(new_cert, cert)
        async with asyncio.timeout(20 * CHECKED_EVERY_S):
            while not await is_served(server.port, second):
                pass
        assert not await is_served(server.port, first)


async def is_served(port: int, tls: Tls) -> bool:
    async with AsyncClient(f"localhost:{port}", tls=tls, max_attempts=1, deadline_s=5) as client:
        try:
            await client.embedder.GetModel(GetModelRequest())
        except grpc.aio.AioRpcError:
            return False
        return True


async def test_writer_and_reader_show_the_embedder_a_token(dsn: str, tmp_path: Path, monkeypatch: Any) -> None:
    """AC-1, EM-1: over TLS, from files; without the token nothing is embedded, and a search goes by words."""
    cert, key = make_certificate(tmp_path, "embedder")
    grants = grants_file(tmp_path, entry("memory", "secret", grants=[{"namespaces": ["*"], "permissions": ["read"]}]))
    token = tmp_path / "token"
    token.write_text("secret")
    model = bundled_backend()
    service = build_embedder(EmbedderSettings(), load=lambda settings: model)
    tls = {"tls_cert_file": cert, "tls_key_file": key}
    async with serving(service, auth_mode="static", auth_grants_file=grants, **tls) as target:
        target = target.replace("127.0.0.1", "localhost")
        access = EmbedderAccess(ca_file=cert)
        async with embedder_channel(target, access=access) as channel:
            stub = EmbedderServiceStub(channel)
            call = stub.GetModel(GetModelRequest(), wait_for_ready=True, timeout=20)
            assert (await refused(call))[1] == "UNAUTHENTICATED"
        monkeypatch.setenv("PALIMPSEST_EMBEDDER_ACCESS_CA_FILE", str(cert))
        monkeypatch.setenv("PALIMPSEST_EMBEDDER_ACCESS_TOKEN_FILE", str(token))
        async with writing(dsn, target) as writer:
            await writer.record(
                observation("1", content="The gateway renews its certificate."), wait_for_embedding=True
            )
        made = ReaderSettings(database=DatabaseSettings(dsn=dsn), embedder_target=target, embed_timeout_s=10)
        async with serving(build_reader(made)) as reader, AsyncClient(reader) as client:
            found = await client.search("demo", "gateway", keep_irrelevant=True)
    assert not found.degraded
    assert found.fingerprint
    assert EMBEDDER


def test_a_token_does_not_leave_in_plaintext(tmp_path: Path) -> None:
    """AC-1: to another machine only over TLS, unless the operator says that a mesh encrypts."""
    token = tmp_path / "token"
    token.write_text("secret")
    with pytest.raises(ValueError, match="plaintext"):
        embedder_channel("embedder.example.org:7400", access=EmbedderAccess(token_file=token))
