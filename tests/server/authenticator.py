"""A passkey in Python: what a browser and a device would answer, right or wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import struct
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Authenticator:
    """A device with one key; `count` grows with each signature, as on a security key."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.host = origin.partition("://")[2].partition(":")[0]
        self.id = secrets.token_bytes(32)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.count = 0

    def create(self, options: str, **changes: Any) -> str:
        """Return the answer to a page's options for a new passkey."""
        client = self._client_data("webauthn.create", json.loads(options)["challenge"], **changes)
        numbers = self.key.public_key().public_numbers()
        point = {-2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, **point})
        device = bytes(16) + struct.pack(">H", len(self.id)) + self.id + public
        data = self._authenticator_data(0x45) + device
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        return self._written({"clientDataJSON": client, "attestationObject": attestation})

    def get(self, options: str, **changes: Any) -> str:
        """Return the answer to a page's options for signing in."""
        self.count += 1
        client = self._client_data("webauthn.get", json.loads(options)["challenge"], **changes)
        data = self._authenticator_data(0x01)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._written({"clientDataJSON": client, "authenticatorData": data, "signature": signature})

    def _client_data(self, kind: str, challenge: str, /, **changes: Any) -> bytes:
        value = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False, **changes}
        return json.dumps(value).encode()

    def _authenticator_data(self, flags: int) -> bytes:
        return hashlib.sha256(self.host.encode()).digest() + struct.pack(">BI", flags, self.count)

    def _written(self, response: dict[str, bytes]) -> str:
        parts = {name: encoded(data) for name, data in response.items()}
        value = {"id": encoded(self.id), "rawId": encoded(self.id), "type": "public-key", "response": parts}
        return json.dumps({**value, "clientExtensionResults": {}})
