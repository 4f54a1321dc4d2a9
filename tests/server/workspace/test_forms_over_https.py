"""Forms of the workspace over HTTPS, where browsers send no Referer because every page asks them not to."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import signed_in

SETTINGS = {"public_url": "https://survey.example.org:8443", "trusted_hosts": ("survey.example.org",)}
HOST = "https://survey.example.org"
CHROMIUM = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def client(site: tuple[Flask, Store]) -> FlaskClient:
    return signed_in(*site, None)


def status(client: FlaskClient, headers: dict[str, str], token: str | None = None) -> int:
    """The status of a sign-in; 200 shows that the form itself was read, and found a wrong password."""
    page = client.get("/sign-in", base_url=HOST).text
    match = re.search(r'name="csrf_token"[^>]* value="([^"]+)"', page)
    assert match
    fields = {"csrf_token": match[1] if token is None else token, "name": "owner", "password": "wrong"}
    return client.post("/sign-in", data=fields, base_url=HOST, headers=headers).status_code


@pytest.mark.parametrize(
    "headers",
    [
        CHROMIUM,
        {"Origin": HOST, "Sec-Fetch-Site": "same-origin"},
        {"Origin": HOST},
        # Behind a proxy on another port the Host header has no port, and PUBLIC_URL has.
        {"Origin": "https://survey.example.org:8443"},
        {},
    ],
)
def test_a_form_of_the_own_site_is_read(client: FlaskClient, headers: dict[str, str]) -> None:
    assert status(client, headers) in (200, 401, 422)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://other.example.org", "Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "https://survey.example.org.evil.example"},
        # An unencrypted page of the same name may be anybody's on the way.
        {"Origin": "http://survey.example.org"},
    ],
)
def test_a_form_of_another_site_is_refused_even_with_the_token(
    client: FlaskClient, headers: dict[str, str]
) -> None:
    assert status(client, headers) == 403


def test_a_form_without_its_token_is_refused(client: FlaskClient) -> None:
    assert status(client, CHROMIUM, token="") == 400
    assert status(client, CHROMIUM, token="made up") == 400
