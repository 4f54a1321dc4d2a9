"""Signing in at an institution and with a passkey, in a browser that sends no strict cookie after another site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hushpoll_server.people import accounts
from playwright.sync_api import Page, expect

from tests.browser.accessibility import violations
from tests.browser.workspace_kit import PASSWORD, watch
from tests.provider import Provider, running_provider
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A provider on another site than the server: 127.0.0.1 is none of localhost's."""
    with running_provider("127.0.0.1") as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[LiveServer]:
    settings = {name.upper(): value for name, value in provider.settings().items()}
    folder = tmp_path_factory.mktemp("node")
    live = LiveServer(folder, **settings, HOST="127.0.0.1", PUBLIC_URL="http://localhost")
    # A browser adds the port to what it is sent back to, and to what a passkey is made for.
    live.environment["PUBLIC_URL"] = f"http://localhost:{live.port}"
    accounts.add_user(live.store, "ines", "designer", PASSWORD)
    live.start()
    yield live
    live.close()


@pytest.fixture
def visitor(page: Page) -> Iterator[Page]:
    faults = watch(page)
    yield page
    assert faults == []


def address(server: LiveServer) -> str:
    return f"http://localhost:{server.port}"


def sign_in(page: Page, server: LiveServer) -> None:
    page.goto(f"{address(server)}/sign-in")
    page.get_by_label("Name").fill("ines")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_signing_in_at_an_institution(visitor: Page, server: LiveServer, provider: Provider) -> None:
    page = visitor
    page.goto(f"{address(server)}/account")
    assert violations(page) == []
    page.get_by_role("link", name="Sign in with Example University").click()
    expect(page.get_by_role("alert")).to_contain_text("locked")
    assert violations(page) == []
    accounts.change_account(server.store, "jane", actor="test", role="designer", active=True)
    page.get_by_role("link", name="Begin again").click()
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()
    page.get_by_role("link", name="jane").click()
    expect(page.get_by_text("This account has no password")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_an_account_is_connected_and_the_session_continues(
    visitor: Page, server: LiveServer, provider: Provider
) -> None:
    page = visitor
    provider.person = {"sub": "ines at the university", "preferred_username": "ines"}
    sign_in(page, server)
    page.goto(f"{address(server)}/account")
    page.get_by_role("link", name="Connect").click()
    page.get_by_label("Present password").fill(PASSWORD)
    page.get_by_role("button", name="Connect").click()
    page.get_by_role("link", name="Go on to Example University").click()
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()
    expect(page.get_by_role("link", name="Disconnect")).to_be_visible()
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_role("link", name="Sign in with Example University").click()
    page.get_by_role("link", name="ines").click()
    expect(page.get_by_text("You are signed in as ines")).to_be_visible()


def authenticator(page: Page) -> Any:
    """Let the browser have a device that makes passkeys without asking anybody."""
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    return devices, devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]


def test_a_passkey_from_adding_it_to_removing_it(visitor: Page, server: LiveServer) -> None:
    page = visitor
    devices, device = authenticator(page)
    sign_in(page, server)
    page.goto(f"{address(server)}/account")
    page.get_by_role("link", name="Add a passkey").click()
    assert violations(page) == []
    page.get_by_label("Name", exact=True).fill("This computer")
    page.get_by_label("Present password").fill(PASSWORD)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    page.get_by_role("link", name="I have stored them").click()
    expect(page.get_by_text("This computer")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Sign out", exact=True).click()

    sign_in(page, server)
    expect(page.get_by_role("heading", name="One more step")).to_be_visible()
    assert violations(page) == []
    devices.send(
        "WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False}
    )  # a touch is enough
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()
    page.get_by_role("button", name="Sign out", exact=True).click()

    # Without the device the page says so, and a code is asked for.
    devices.send("WebAuthn.clearCredentials", {"authenticatorId": device})
    sign_in(page, server)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("The browser gave no passkey")).to_be_visible()
    page.get_by_label("Code", exact=True).fill("not a code")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("#code-error")).to_contain_text("This code is wrong")
    assert violations(page) == []
