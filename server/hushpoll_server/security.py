"""Headers, hosts, cookies and throttles: the same on every response, also on errors and static files."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.middleware.proxy_fix import ProxyFix

from .config import LOOPBACK, Config
from .problems import HEALTH, Problem, unavailable
from .store.clock import clock
from .store.surveys import today

CSP = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# What only a page can use; thirteen files of a page carry it thirteen times.
_PAGES = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# For data, scripts and styles: opened by themselves they may do nothing at all.
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def csp(changes: dict[str, str] | None = None) -> str:
    """Write the policy; a page changes single directives by `g.csp = {"form-action": "'none'"}`."""
    return "; ".join(f"{name} {value}" for name, value in {**CSP, **(changes or {})}.items())


_PLAIN = [("Content-Security-Policy", _NOTHING), *HEADERS.items()]
_SHOWN = ("text/html", "image/svg+xml")
_HSTS = ("Strict-Transport-Security", "max-age=31536000")


def plain_headers(secure: bool) -> list[tuple[str, str]]:
    """Return the headers of a response that is not a page."""
    if secure:
        return [*_PLAIN, _HSTS]
    return _PLAIN


def init_app(app: Flask, config: Config) -> None:
    """Guard every request and every response."""
    app.config.update(
        SESSION_COOKIE_SECURE=True,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        MAX_CONTENT_LENGTH=4 * 1024 * 1024,
        MAX_FORM_MEMORY_SIZE=1024 * 1024,
        MAX_FORM_PARTS=10_000,
    )
    if config.proxy_hops:
        hops = config.proxy_hops
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]

    if config.prefix:
        app.wsgi_app = PathPrefix(app.wsgi_app, config.prefix)  # type: ignore[method-assign]

    @app.before_request
    def before() -> None:
        check_host(request.environ.get("HTTP_HOST", ""), config)
        if request.path not in HEALTH:
            check_clock(config)

    @app.after_request
    def add_headers(response: Response) -> Response:
        is_page = response.mimetype in _SHOWN
        response.headers["Content-Security-Policy"] = csp(g.get("csp")) if is_page else _NOTHING
        for name, value in {**HEADERS, **(_PAGES if is_page else {})}.items():
            response.headers.setdefault(name, value)
        if request.is_secure:
            response.headers.setdefault(*_HSTS)
        return response


class PathPrefix:
    """Serve below the path of PUBLIC_URL: links carry it, whether the proxy passes it on or takes it away."""

    def __init__(self, application: Callable[..., Iterable[bytes]], prefix: str) -> None:
        self.application = application
        self.prefix = prefix

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Move the prefix from the path to where WSGI keeps it."""
        environ["SCRIPT_NAME"] = self.prefix
        path = environ.get("PATH_INFO", "")
        if path == self.prefix or path.startswith(f"{self.prefix}/"):
            environ["PATH_INFO"] = path.removeprefix(self.prefix) or "/"
        return self.application(environ, start_response)


def check_host(host: str, config: Config) -> None:
    """Refuse a request for a host name that is not this server's."""
    if not host_is_ours(host, config):
        detail = "this server does not answer under that host name; its owner can set TRUSTED_HOSTS"
        raise Problem(400, detail)


def check_clock(config: Config) -> None:
    """Refuse to serve while the node's clock differs from the database's, so that the proxy asks the next node."""
    # SQLite has no clock of its own.
    if config.database_url and clock.is_wrong:
        raise unavailable("the clock of this server is wrong; its operator has to set it")


@lru_cache(maxsize=256)
def host_is_ours(host: str, config: Config) -> bool:
    """Return whether a Host header names this server.

    Without TRUSTED_HOSTS the names are those that others cannot point here by DNS: the loopback names, the address it
    listens on and PUBLIC_URL; when it listens on every address also any literal address and the machine's own name.
    """
    name = _without_port(host)
    if config.trusted_hosts:
        return any(_matches(name, pattern.lower()) for pattern in config.trusted_hosts)
    if (
        name in LOOPBACK
        or name == config.host.lower()
        or name == _without_port(urlsplit(config.address).netloc)
    ):
        return True
    if config.host not in ("0.0.0.0", "::", ""):  # noqa: S104
        return False
    return _is_address(name) or name in _own_names()


def _without_port(host: str) -> str:
    host = host.strip().lower()
    if host.startswith("["):
        name, closed, rest = host[1:].partition("]")
        # Without an end, or with more behind it, it is no name: nobody is called so.
        if closed and (not rest or rest.startswith(":")):
            return name
        return "["
    if host.count(":") == 1:
        return host.rsplit(":", 1)[0]
    return host


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("."):
        return name == pattern[1:] or name.endswith(pattern)
    return name == _without_port(pattern)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_names() -> tuple[str, ...]:
    name = socket.gethostname().lower()
    return (name, f"{name}.local")


def refuse_cross_site(config: Config) -> None:
    """Refuse a form that another site's page sent in a visitor's name.

    Pages send no Referer (`Referrer-Policy: no-referrer`), and Chromium then sends `Origin: null` with
    `Sec-Fetch-Site: same-origin`. Old browsers send only `Origin`; programs send neither and pass.
    """
    site = request.headers.get("Sec-Fetch-Site", "")
    origin = request.headers.get("Origin", "null")
    # A proxy on another port than 443 may leave the port out of the Host header.
    own_origins = {f"{request.scheme}://{request.host}", origin_of(config.address)}
    is_foreign = origin != "null" and origin not in own_origins
    if site in ("cross-site", "same-site") or (not site and is_foreign):
        raise Problem(403, "this form was sent from another site; open its own page and send it from there")


def origin_of(address: str) -> str:
    """Return scheme, host and port of an address, as browsers write them in `Origin`."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _network(address: str) -> str:
    """Return what one subscriber has: an address, or in IPv6 the 2^64 addresses of a network."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), 64), strict=False))


class Throttle:
    """At most `limit` events per `seconds` and key, forgotten when the process ends.

    Keys are kept as a hash under a key that changes each day and is never stored, so that no list of addresses can be
    made from memory afterwards. One process counts for itself.
    """

    def __init__(self, limit: int, seconds: float = 60.0, most_keys: int = 100_000) -> None:
        self.limit = limit
        self.seconds = seconds
        self.most_keys = most_keys
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32)
        self._day = today()
        self._spent: dict[bytes, tuple[float, float]] = {}

    def wait(self, name: str, cost: float = 1.0) -> float:
        """Count an event; give 0, or the seconds to wait when it is one too many (a token bucket)."""
        if self.limit <= 0:
            return 0.0
        now = time.monotonic()
        with self._lock:
            self._turn_day()
            key = hmac.new(self._key, _network(name).encode("utf-8", "replace"), hashlib.sha256).digest()[:16]
            level, then = self._spent.get(key, (0.0, now))
            level = max(0.0, level - (now - then) * self.limit / self.seconds)
            if level + cost > self.limit:
                return (level + cost - self.limit) * self.seconds / self.limit
            # Last in the order; where there are too many, the one goes that did nothing for longest.
            self._spent.pop(key, None)
            if len(self._spent) >= self.most_keys:
                del self._spent[next(iter(self._spent))]
            self._spent[key] = (level + cost, now)
        return 0.0

    def _turn_day(self) -> None:
        if self._day != today():
            self._day, self._key, self._spent = today(), secrets.token_bytes(32), {}
