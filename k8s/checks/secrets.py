"""The secrets that are referred to and never in the tree: who brings them, and with which keys (README.md)."""

from __future__ import annotations

from k8s.checks.manifests import Manifests

_LOGIN = {"username", "password"}
_CERTIFICATE = {"tls.crt", "tls.key", "ca.crt"}

BY_WHO_DEPLOYS = {
    "palimpsest-database-owner": _LOGIN,
    "palimpsest-database-writer": _LOGIN,
    "palimpsest-database-reader": _LOGIN,
    "palimpsest-grants": {"grants.json"},
    "palimpsest-embedder-token": {"token"},
    "palimpsest-writer-tls": _CERTIFICATE,
    "palimpsest-reader-tls": _CERTIFICATE,
    "palimpsest-embedder-tls": _CERTIFICATE,
}


def expected_secrets(manifests: Manifests) -> dict[str, set[str]]:
    """Keys of each secret that will be there; the operator's are those of the clusters that there are."""
    by_operator = {
        f"{cluster['metadata']['name']}-ca": {"ca.crt", "ca.key"} for cluster in manifests.of_kind("Cluster")
    }
    return BY_WHO_DEPLOYS | by_operator
