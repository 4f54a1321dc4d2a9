"""The same strict headers on every response, also on errors and static files; respondents get no cookie."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask, g
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server import create_app
from hushpoll_server.config import Config
from hushpoll_server.security import Throttle, host_is_ours
from hushpoll_server.store.surveys import Store
from werkzeug.routing import AnyConverter, IntegerConverter, Rule

from tests.serving import new_report, post

POLICY = {
    "default-src": "'none'",
    "base-uri": "'none'",
}


@pytest.fixture
def backend() -> str:
    """Headers do not depend on the database."""
    return "sqlite"


def check(response, address: str) -> None:
    """Assert what every response has."""
    headers = response.headers
    policy = dict(directive.split(" ", 1) for directive in headers["Content-Security-Policy"].split("; "))
    for name, value in POLICY.items():
        assert policy[name] == value, address
    assert policy.get("script-src", policy["default-src"]) in ("'self'", "'none'"), address
    assert ("script-src" in policy) == (response.mimetype in ("text/html", "image/svg+xml")), address
    assert policy["form-action"] in ("'self'", "'none'"), address
    assert policy["frame-ancestors"] in ("'none'", "'self'"), address
    assert "unsafe" not in headers["Content-Security-Policy"], address
    assert headers["X-Content-Type-Options"] == "nosniff", address
    assert headers["Referrer-Policy"] == "no-referrer", address
    assert "Server" not in headers or "Python" not in headers["Server"], address


def _value(rule: Rule, name: str, survey: Survey) -> str:
    """Something that fits a part of a route's path."""
    converter = rule._converters[name]
    if isinstance(converter, AnyConverter):
        return sorted(converter.items)[0]
    if isinstance(converter, IntegerConverter):
        return "1"
    return survey.hash if "hash" in name else "x"


def test_every_route(app: Flask, client: FlaskClient, survey: Survey) -> None:
    seen = 0
    for rule in app.url_map.iter_rules():
        values = {name: _value(rule, name, survey) for name in rule.arguments}
        if rule.endpoint.endswith("static"):
            values["filename"] = "palette.css"
        with app.test_request_context():
            path = app.url_map.bind("localhost").build(rule.endpoint, values, force_external=False)
        for method in sorted(rule.methods or ()):
            response = client.open(path, method=method)
            check(response, f"{method} {path} {response.status_code}")
            assert response.status_code < 500, path
            response.close()
            seen += 1
    assert seen > 20


def test_every_error(
    client: FlaskClient, survey: Survey, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/surveys/{survey.hash}/reports"
    report = new_report(survey).to_bytes()
    answers = {
        201: post(client, survey, report),
        200: post(client, survey, report),
        400: client.get("/healthz", headers={"Host": "evil.example"}),
        404: client.get("/nowhere"),
        405: client.put(path),
        413: client.post(path, data=b" " * 70_000, content_type="application/json"),
        415: client.post(path, data=b"x"),
        422: client.post(path, data=b"x", content_type="application/json"),
    }
    for status, response in answers.items():
        assert response.status_code == status
        check(response, str(status))
    monkeypatch.setitem(app.view_functions, "api.health", lambda: 1 / 0)
    broken = client.get("/healthz")
    assert broken.status_code == 500
    check(broken, "500")
    monkeypatch.setattr(app.extensions["hushpoll_intake"], "one", lambda *_: 1 / 0)
    broken = post(client, survey, report)
    assert broken.status_code == 500
    assert broken.content_type == "application/problem+json"
    check(broken, "500 past Flask")


def test_a_page_can_change_single_directives(app: Flask) -> None:
    def page() -> str:
        g.csp = {"form-action": "'none'"}
        return "page"

    app.add_url_rule("/strict-page", view_func=page)
    policy = app.test_client().get("/strict-page").headers["Content-Security-Policy"]
    assert "form-action 'none'" in policy
    assert "default-src 'none'" in policy


def test_respondents_get_no_cookie(client: FlaskClient, survey: Survey) -> None:
    for response in (
        client.get(f"/s/{survey.hash}"),
        client.get(f"/api/surveys/{survey.hash}"),
        post(client, survey, new_report(survey).to_bytes()),
        client.get("/healthz"),
        client.get("/nowhere", headers={"Accept": "text/html"}),
    ):
        assert "Set-Cookie" not in response.headers
        assert "Cookie" not in response.headers.get("Vary", "")


def test_designers_cookie_is_strict(app: Flask) -> None:
    assert app.config["SESSION_COOKIE_SECURE"]
    assert app.config["SESSION_COOKIE_HTTPONLY"]
    assert app.config["SESSION_COOKIE_SAMESITE"] == "Strict"


def test_tls_is_remembered(client: FlaskClient, survey: Survey) -> None:
    assert "Strict-Transport-Security" not in client.get("/healthz").headers
    assert "Strict-Transport-Security" in client.get("/healthz", base_url="https://localhost").headers
    assert "Strict-Transport-Security" in post(client, survey, b"", base_url="https://localhost").headers


def test_proxies_are_believed_only_when_configured(config: Config, store: Store, client: FlaskClient) -> None:
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    assert "Strict-Transport-Security" not in client.get("/healthz", headers=forwarded).headers
    behind = create_app(replace(config, proxy_hops=1))
    assert "Strict-Transport-Security" in behind.test_client().get("/healthz", headers=forwarded).headers
    behind.extensions["hushpoll"].close()


@pytest.mark.parametrize(
    ("host", "settings", "ours"),
    [
        ("127.0.0.1:8000", {}, True),
        ("localhost", {}, True),
        ("LOCALHOST:80", {}, True),
        ("[::1]:8000", {}, True),
        ("[::1]", {}, True),
        ("[::1", {}, False),
        ("[::1]evil.example", {}, False),
        ("[::1]evil.example", {"trusted_hosts": ("::1", ".example")}, False),
        ("evil.example", {}, False),
        ("127.0.0.1.evil.example", {}, False),
        ("192.168.1.5:8000", {}, False),
        ("", {}, False),
        ("192.168.1.5:8000", {"host": "192.168.1.5"}, True),
        ("192.168.1.5:8000", {"host": "0.0.0.0"}, True),
        ("[fe80::1]:8000", {"host": "::"}, True),
        ("evil.example", {"host": "0.0.0.0"}, False),
        ("survey.example.org", {"public_url": "https://survey.example.org"}, True),
        ("survey.example.org", {"trusted_hosts": ("survey.example.org",)}, True),
        ("a.example.org", {"trusted_hosts": (".example.org",)}, True),
        ("notexample.org", {"trusted_hosts": (".example.org",)}, False),
        ("localhost", {"trusted_hosts": ("survey.example.org",)}, False),
    ],
)
def test_host_names(host: str, settings: dict, ours: bool) -> None:
    assert host_is_ours(host, Config(**settings)) is ours


def test_hosts_are_checked_for_reports_too(client: FlaskClient, survey: Survey, store: Store) -> None:
    refused = post(client, survey, new_report(survey).to_bytes(), headers={"Host": "evil.example"})
    assert refused.status_code == 400
    assert store.count(survey.hash) == 0


def test_throttles_count_the_network_of_an_address_of_ipv6() -> None:
    """A client with one IPv6 address has 2^64 of them."""
    throttle = Throttle(2)
    for address, is_refused in (
        ("2001:db8::1", False),
        ("2001:db8::2", False),
        ("2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:0DB8::3", True),
        ("2001:db8:0:1::1", False),
        ("fe80::1%eth0", False),
        ("192.0.2.1", False),
        ("::ffff:192.0.2.1", False),
        ("192.0.2.1", True),
        ("192.0.2.2", False),
        ("a name", False),
    ):
        assert (throttle.wait(address) > 0) == is_refused, address


def test_throttles_with_too_many_names_forget_the_oldest_only() -> None:
    throttle = Throttle(1, seconds=3600, most_keys=3)
    for name in ("a", "b", "c"):
        assert throttle.wait(name) == 0
    assert throttle.wait("c") > 0
    assert throttle.wait("d") == 0
    assert [throttle.wait(name) > 0 for name in ("b", "c", "d")] == [True] * 3
    assert throttle.wait("a") == 0


def test_throttles_keep_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    throttle = Throttle(2, seconds=60, most_keys=3)
    assert [throttle.wait("192.0.2.1") > 0 for _ in range(3)] == [False, False, True]
    assert throttle.wait("192.0.2.2") == 0
    assert "192.0.2" not in repr(vars(throttle))
    before = dict(throttle._spent)
    monkeypatch.setattr("hushpoll_server.security.today", lambda: "tomorrow")
    assert throttle.wait("192.0.2.1") == 0
    assert not set(before) & set(throttle._spent)
    for number in range(10):
        throttle.wait(str(number))
    assert len(throttle._spent) <= 3
    assert Throttle(0).wait("anybody") == 0
