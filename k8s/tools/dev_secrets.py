#!/usr/bin/env python3
"""Prints fresh secrets for the overlay `dev`: `dev_secrets.py | kubectl create -f -`, once a cluster.

Passwords of the database and tokens are made here, random, and kept by nobody but the cluster. `create`, and not
`apply`: the database takes its passwords when it is made, and would not know others. Needs nothing but Python.
"""

import hashlib
import json
import secrets
import sys
from collections.abc import Mapping
from typing import Any

NAMESPACE = "palimpsest-dev"

# The names of those who log in, as the overlay `prod` has them too.
_LOGINS = {"owner": "palimpsest", "writer": "palimpsest_writer_login", "reader": "palimpsest_reader_login"}


def dev_secrets(namespace: str = NAMESPACE) -> dict[str, Any]:
    """A list of secrets, as Kubernetes takes it."""
    client, embedder = _token(), _token()
    callers = [
        _caller("developer", client, ["read", "write", "admin"]) | {"clearances": ["pii"], "sees_all": True},
        _caller("palimpsest-services", embedder, ["read"]),
    ]
    items = [
        *(_secret(namespace, f"palimpsest-database-{who}", _login(name)) for who, name in _LOGINS.items()),
        _secret(namespace, "palimpsest-grants", {"grants.json": json.dumps({"callers": callers}, indent=2)}),
        _secret(namespace, "palimpsest-embedder-token", {"token": embedder}),
        # For people: no pod reads it.
        _secret(namespace, "palimpsest-developer-token", {"token": client}),
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _secret(namespace: str, name: str, data: Mapping[str, str]) -> dict[str, Any]:
    kind = "kubernetes.io/basic-auth" if "password" in data else "Opaque"
    metadata = {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "palimpsest"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "stringData": dict(data)}


def _login(name: str) -> dict[str, str]:
    return {"username": name, "password": secrets.token_urlsafe(24)}


def _token() -> str:
    return "plm_" + secrets.token_urlsafe(32)


def _caller(subject: str, token: str, permissions: list[str]) -> dict[str, Any]:
    hashed = {"sha256": hashlib.sha256(token.encode()).hexdigest()}
    return {"subject": subject, "tokens": [hashed], "grants": [{"namespaces": ["*"], "permissions": permissions}]}


if __name__ == "__main__":
    json.dump(dev_secrets(*sys.argv[1:2]), sys.stdout, indent=2)
