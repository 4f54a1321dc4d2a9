"""A small OpenID Connect provider: it signs in every visitor as the person that a test names."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "hushpoll", "a secret of the client"


@cache
def signing_key(number: int) -> RSAKey:
    """Return the key that a provider signs with after so many others; making one takes a quarter of a second."""
    return RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"})


@cache
def foreign_key(kid: str) -> RSAKey:
    """Return a key with the name of another one, as a forger has it."""
    return RSAKey.generate_key(2048, {"kid": kid})


class Provider:
    """What the provider says, which a test changes: the person, and claims that are right or wrong."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.person: dict[str, Any] = {"sub": "248289761001", "preferred_username": "jane"}
        self.userinfo: dict[str, Any] = {}
        self.wrong: dict[str, Any] = {}
        self.leaves_out: set[str] = set()
        self.algorithm = "RS256"
        self.refuses = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.seen: list[dict[str, str]] = []
        self.requests: list[str] = []
        self.keys: dict[str, Any] = {}
        self.key: Any = None
        self.new_key()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.answer(self, "")

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                provider.answer(self, self.rfile.read(length).decode())

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://{host}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def settings(self) -> dict[str, str]:
        """The settings of a server that knows this provider."""
        return {
            "oidc_issuer": self.issuer,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": CLIENT_SECRET,
            "oidc_name": "Example University",
        }

    def new_key(self) -> None:
        """Sign with another key, as providers do now and then."""
        key = signing_key(len(self.keys))
        self.key = self.keys[key.kid] = key

    def answer(self, handler: BaseHTTPRequestHandler, body: str) -> None:
        """Answer a request to one of the endpoints."""
        path = urlsplit(handler.path).path
        fields = {name: values[0] for name, values in parse_qs(body or urlsplit(handler.path).query).items()}
        self.requests.append(path)
        if path == "/authorize":
            return self._authorize(handler, fields)
        value = {
            "/.well-known/openid-configuration": self._metadata,
            "/jwks": lambda: {"keys": [key.as_dict(private=False) for key in self.keys.values()]},
            "/token": lambda: self._token(handler, fields),
            "/userinfo": lambda: {"sub": self.person["sub"], **self.userinfo},
        }[path]()
        content = json.dumps(value).encode()
        handler.send_response(400 if "error" in value else 200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _metadata(self) -> dict[str, Any]:
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
        endpoints = {name: f"{self.issuer}/{path}" for name, path in names.items()}
        return {
            "issuer": self.issuer,
            **endpoints,
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }

    def _authorize(self, handler: BaseHTTPRequestHandler, fields: dict[str, str]) -> None:
        self.seen.append(fields)
        code = secrets.token_urlsafe(8)
        self.codes[code] = fields
        back = {"error": self.refuses} if self.refuses else {"code": code}
        handler.send_response(302)
        handler.send_header(
            "Location", f"{fields['redirect_uri']}?{urlencode({**back, 'state': fields['state']})}"
        )
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def _token(self, handler: BaseHTTPRequestHandler, fields: dict[str, str]) -> dict[str, Any]:
        authorization = self.codes.pop(fields.get("code", ""), None)
        secret = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        challenge = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
        if (
            authorization is None
            or handler.headers.get("Authorization") != f"Basic {secret}"
            or authorization["redirect_uri"] != fields.get("redirect_uri")
            or authorization["code_challenge"] != base64.urlsafe_b64encode(challenge).decode().rstrip("=")
        ):
            return {"error": "invalid_grant"}
        return {
            "access_token": "opens the page of user information",
            "token_type": "Bearer",
            "id_token": self._id_token(authorization),
        }

    def _id_token(self, authorization: dict[str, str]) -> str:
        now = int(time.time())
        times = {"iat": now, "exp": now + 300}
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "nonce": authorization["nonce"],
            **times,
            **self.person,
        }
        claims = {name: value for name, value in claims.items() if name not in self.leaves_out} | self.wrong
        if self.algorithm == "none":
            parts = [{"alg": "none"}, claims]
            return ".".join(_encoded(json.dumps(section).encode()) for section in parts) + "."
        key = self.key
        if self.algorithm == "HS256":
            key = OctKey.import_key(CLIENT_SECRET.encode())
        elif self.algorithm == "ES256":
            key = self.keys.setdefault("curve", ECKey.generate_key("P-256", {"kid": "curve"}))
        elif self.algorithm == "stranger":
            key = foreign_key(self.key.kid)
        header = {"alg": "RS256" if self.algorithm == "stranger" else self.algorithm, "kid": key.kid or "x"}
        return jwt.encode(header, claims, key, algorithms=["RS256", "HS256", "ES256"])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@contextmanager
def running_provider(host: str = "127.0.0.1") -> Iterator[Provider]:
    """Run a provider until the end of the block."""
    provider = Provider(host)
    yield provider
    provider.close()
