"""An issuer of tokens for tests."""

import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER = "https://issuer.example.org"
AUDIENCE = "palimpsest"


class Issuer:
    """Keys, and tokens that they sign."""

    def __init__(self) -> None:
        self.rsa = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())

    def key_set(self, *key_ids: str) -> bytes:
        """The public keys, as issuers publish them: `r…` RSA, `e…` EC."""
        return json.dumps({"keys": [self._public(key_id) for key_id in key_ids]}).encode()

    def token(self, key_id: str | None = "r1", algorithm: str = "", **claims: Any) -> str:
        """A token that is good unless `claims` say otherwise; a claim that is None is left out."""
        known = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": int(time.time()) + 60}
        said = {name: value for name, value in (known | claims).items() if value is not None}
        is_ec = key_id is not None and key_id.startswith("e")
        headers = {"kid": key_id} if key_id else None
        return jwt.encode(
            said, self.ec if is_ec else self.rsa, algorithm or ("ES256" if is_ec else "RS256"), headers=headers
        )

    def public_pem(self) -> bytes:
        """The RSA key as text, which an attacker has too."""
        return self.rsa.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def _public(self, key_id: str) -> dict[str, Any]:
        if key_id.startswith("e"):
            found = ECAlgorithm.to_jwk(self.ec.public_key(), as_dict=True)
        else:
            found = RSAAlgorithm.to_jwk(self.rsa.public_key(), as_dict=True)
        return {**found, "kid": key_id, "use": "sig"}
