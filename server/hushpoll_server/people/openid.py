"""The client of an OpenID Connect provider: authorization code flow with PKCE, and ID tokens checked strictly."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from hushpoll_server.config import LOOPBACK, Config
from hushpoll_server.store.surveys import Store

from .audit_log import now
from .errors import AccountError

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session  # type: ignore[import-untyped]
    from joserfc.jwk import KeySet

__all__ = ["Attempt", "Provider", "is_configured", "provider_of"]

SECONDS = 10
"""How long a provider may take to answer one request."""
METADATA_SECONDS = 3600.0
LEEWAY_SECONDS = 60
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Signatures with a public key only: neither `none` nor a hash with the client's secret is one."""
_KEY_TYPES = ("RSA", "EC")
_LONGEST_SUBJECT = 255
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_WELL_KNOWN = "/.well-known/openid-configuration"
_log = logging.getLogger(__name__)


class Attempt(NamedTuple):
    """The secrets of one attempt to sign in; the browser brings them back in a signed cookie."""

    state: str
    nonce: str
    verifier: str


def is_configured(config: Config) -> bool:
    """Return whether people may sign in at an institution."""
    return bool(config.oidc_issuer)


class Provider:
    """The provider that the settings name. Its metadata and keys are fetched when needed, and kept for an hour."""

    def __init__(self, config: Config, return_address: str) -> None:
        self.issuer = config.oidc_issuer
        self._config = config
        self._return_address = return_address
        self._lock = threading.Lock()
        self._metadata: dict[str, Any] = {}
        self._keys: KeySet | None = None
        self._fresh_until = 0.0

    def authorization_address(self, attempt: Attempt, *, again: bool = False) -> str:
        """Return where to send the browser; `again` asks for the password also where a session lasts there."""
        metadata = self.metadata()
        more = {}
        if again:
            more = {"prompt": "login"}
        with self._session() as session:
            address, _ = session.create_authorization_url(
                metadata["authorization_endpoint"],
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
                **more,
            )
        return str(address)

    def claims(self, code: str, attempt: Attempt) -> Mapping[str, Any]:
        """Return what the provider says of the person who came back with this code; AccountError where it may not.

        Where a claim that is needed is not in the ID token, the provider's page of user information is asked.
        """
        from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]
        from joserfc.errors import JoseError
        from requests import RequestException

        metadata = self.metadata()
        try:
            with self._session() as session:
                token = session.fetch_token(
                    metadata["token_endpoint"], code=code, code_verifier=attempt.verifier, timeout=SECONDS
                )
                claims = self._checked(token, attempt.nonce)
                if self._lacks_something(claims) and "userinfo_endpoint" in metadata:
                    answer = session.get(metadata["userinfo_endpoint"], timeout=SECONDS)
                    answer.raise_for_status()
                    claims = _joined(claims, answer.json())
        except (AuthlibBaseError, JoseError, RequestException, ValueError, TypeError, KeyError) as error:
            # Its text may hold what the provider sent.
            _log.error("a sign-in at the institution failed: %s", type(error).__name__)
            raise AccountError(
                "the institution's answer cannot be used", "try again, or tell the operator of this server"
            ) from None
        return claims

    def metadata(self) -> Mapping[str, Any]:
        """Return the provider's description of itself; AccountError where it cannot be used."""
        with self._lock:
            if time.monotonic() >= self._fresh_until:
                self._metadata = self._fetch_metadata()
                self._keys = None
                self._fresh_until = time.monotonic() + METADATA_SECONDS
            return self._metadata

    def _fetch_metadata(self) -> dict[str, Any]:
        from requests import RequestException

        try:
            metadata = self._fetch(self.issuer.rstrip("/") + _WELL_KNOWN)
            if metadata.get("issuer") != self.issuer:
                raise ValueError("another issuer")
            for name in _ENDPOINTS:
                _refuse_plain(metadata[name])
            if "userinfo_endpoint" in metadata:
                _refuse_plain(metadata["userinfo_endpoint"])
        except (RequestException, ValueError, TypeError, KeyError, AttributeError) as error:
            _log.error("the institution's provider cannot be used: %s", type(error).__name__)
            raise AccountError(
                "the institution's sign-in cannot be reached", "try again later, or use a password"
            ) from None
        return metadata

    def _fetch(self, address: str) -> dict[str, Any]:
        import requests

        answer = requests.get(address, timeout=SECONDS)
        answer.raise_for_status()
        document = answer.json()
        if not isinstance(document, dict):
            raise TypeError
        return document

    def _session(self) -> OAuth2Session:
        from authlib.integrations.requests_client import OAuth2Session

        methods = self._metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        method = "client_secret_post"
        if "client_secret_basic" in methods:
            method = "client_secret_basic"
        return OAuth2Session(
            self._config.oidc_client_id,
            self._config.oidc_client_secret or None,
            token_endpoint_auth_method=method if self._config.oidc_client_secret else "none",
            scope="openid profile",
            redirect_uri=self._return_address,
            code_challenge_method="S256",
        )

    def _checked(self, token: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token whose signature, issuer, audience, times and nonce are right."""
        from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]

        header, claims = self._decoded(token["id_token"])
        options = {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self._config.oidc_client_id},
        }
        parameters = {
            "nonce": nonce,
            "client_id": self._config.oidc_client_id,
            "access_token": token.get("access_token"),
        }
        CodeIDToken(claims, header, options, parameters).validate(now=now(), leeway=LEEWAY_SECONDS)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
            raise ValueError("no usable subject")
        return dict(claims)

    def _decoded(self, id_token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return header and claims of a signed token; a key that is not known may be new, so keys are fetched once."""
        from joserfc import jwt
        from joserfc.errors import InvalidKeyIdError
        from joserfc.jws import JWSRegistry

        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        try:
            token = jwt.decode(id_token, key=self._key_set(), registry=registry)
        except InvalidKeyIdError:
            token = jwt.decode(id_token, key=self._key_set(fetch=True), registry=registry)
        return dict(token.header), dict(token.claims)

    def _key_set(self, *, fetch: bool = False) -> KeySet:
        from joserfc.jwk import KeySet

        with self._lock:
            if self._keys is None or fetch:
                listed = self._fetch(self._metadata["jwks_uri"])["keys"]
                usable = [
                    key for key in listed if key.get("kty") in _KEY_TYPES and key.get("use", "sig") == "sig"
                ]
                self._keys = KeySet.import_key_set({"keys": usable})
            return self._keys

    def _lacks_something(self, claims: Mapping[str, Any]) -> bool:
        required = ["preferred_username", *filter(None, [self._config.oidc_role_claim])]
        return any(name not in claims for name in required)


def _joined(claims: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, where the page of user information is about the same person; the ID token counts first."""
    if more["sub"] != claims["sub"]:
        raise ValueError("information about somebody else")
    return {**more, **claims}


def _refuse_plain(address: str) -> None:
    """Raise ValueError for an address to which a secret must not travel."""
    parts = urlsplit(address)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError("not encrypted")


_providers: WeakKeyDictionary[Store, Provider] = WeakKeyDictionary()


def provider_of(store: Store, return_address: str) -> Provider:
    """Return the provider of this process."""
    return _providers.setdefault(store, Provider(store.config, return_address))
