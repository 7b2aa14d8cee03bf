"""A real kube-apiserver on loopback, with etcd behind it and nothing else of a cluster: it admits, and nothing runs."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from k8s.checks.manifests import Document, Manifests
from k8s.checks.tools import definitions, etcd, kube_apiserver, kubectl

_READY_WITHIN_S = 180.0
_POLL_S = 0.5
_STOP_WITHIN_S = 20.0
_COMMAND_WITHIN_S = 300.0


class Refused(Exception):
    """The apiserver refuses something, or warns of it; the message is what it says."""


@dataclass(frozen=True)
class Apiserver:
    """One that answers."""

    address: str
    token: str

    def apply(self, text: str, *, dry_run: bool = False) -> None:
        """Applies manifests by server-side apply. Raises Refused: any warning is a fault too."""
        options = ["--dry-run=server"] if dry_run else []
        self.kubectl("apply", "--server-side", "--warnings-as-errors", *options, "-f", "-", text=text)

    def kubectl(self, *arguments: str, text: str = "") -> str:
        """What kubectl prints. Raises Refused."""
        access = ("--server", self.address, "--token", self.token, "--insecure-skip-tls-verify")
        # Nobody's configuration of another cluster.
        command = [str(kubectl()), "--kubeconfig=/dev/null", *access, *arguments]
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as running:
            output, errors = running.communicate(text, timeout=_COMMAND_WITHIN_S)
        if running.returncode:
            raise Refused(errors)
        return output


@contextmanager
def apiserver(folder: Path) -> Iterator[Apiserver]:
    """An apiserver that knows the custom resources, with all it writes in `folder`. Raises ToolMissing."""
    etcd_port, peer_port, port = _free_ports(3)
    with ExitStack() as running:
        running.enter_context(_program(folder / "etcd.log", *_etcd(folder, etcd_port, peer_port)))
        token = secrets.token_hex(16)
        command = _kube_apiserver(folder, etcd_port, port, token)
        process = running.enter_context(_program(folder / "apiserver.log", *command))
        server = Apiserver(f"https://127.0.0.1:{port}", token)
        _wait_until_ready(server, process, folder)
        server.kubectl("apply", "--server-side", "-f", str(definitions().resolve()))
        server.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        yield server


def pods(manifests: Manifests) -> str:
    """The pods that workloads would make: what admission and pod security say of them is said of pods alone."""
    made: list[Document] = []
    for kind in ("Deployment", "StatefulSet", "Job"):
        for workload in manifests.of_kind(kind):
            template: dict[str, Any] = workload["spec"]["template"]
            name, namespace = workload["metadata"]["name"], workload["metadata"]["namespace"]
            metadata = {**template["metadata"], "name": f"{name}-pod", "namespace": namespace}
            spec = dict(template["spec"])
            claimed = [claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])]
            spec["volumes"] = [
                *spec.get("volumes", []),
                *({"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claimed),
            ]
            made.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": made})


def _etcd(folder: Path, port: int, peer_port: int) -> list[str]:
    clients, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    return [
        str(etcd()),
        *("--data-dir", str(folder / "etcd"), "--unsafe-no-fsync"),
        *("--listen-client-urls", clients, "--advertise-client-urls", clients),
        *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"),
    ]


def _kube_apiserver(folder: Path, etcd_port: int, port: int, token: str) -> list[str]:
    key, tokens = folder / "service-accounts.key", folder / "tokens.csv"
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    tokens.write_text(f'{token},checks,checks,"system:masters"\n', encoding="utf-8")
    return [
        str(kube_apiserver()),
        *("--etcd-servers", f"http://127.0.0.1:{etcd_port}"),
        *("--bind-address", "127.0.0.1", "--secure-port", str(port), "--cert-dir", str(folder / "certificates")),
        *("--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.0.0.0/24"),
        *("--authorization-mode", "RBAC", "--token-auth-file", str(tokens)),
        *("--service-account-issuer", "https://kubernetes.default.svc"),
        *("--service-account-key-file", str(key), "--service-account-signing-key-file", str(key)),
    ]


@contextmanager
def _program(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, cwd=log.parent) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(server: Apiserver, process: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            server.kubectl("get", "--raw", "/readyz")
            return
        except Refused as error:
            if process.poll() is not None or time.monotonic() > until:
                log = (folder / "apiserver.log").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"the apiserver is not ready: {error}\n{log[-3000:]}") from None
            time.sleep(_POLL_S)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
