"""The account's pages in a real Chromium: second factor, tokens, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyotp
import pytest
from hushpoll_server import create_app
from hushpoll_server.config import Config
from hushpoll_server.people import accounts
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.workspace_kit import PASSWORD, QUESTION, check_readable, make_draft, sign_in, watched
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched(browser) as page:
        yield page


def test_a_second_factor_from_setting_it_up_to_turning_it_off(page: Page, server: LiveServer) -> None:
    name = "tess"
    accounts.add_user(server.store, name, "designer", PASSWORD)
    sign_in(page, server, name)
    page.goto(f"{server.url}/account/second-factor")
    check_readable(page, "second-factor")
    key = page.locator("code.secret").inner_text().replace(" ", "")
    page.get_by_label(re.compile("code", re.IGNORECASE)).last.fill("000000")
    page.get_by_label(re.compile("password", re.IGNORECASE)).fill(PASSWORD)
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check_readable(page, "second-factor-refused")
    page.get_by_label(re.compile("code", re.IGNORECASE)).last.fill(pyotp.TOTP(key).now())
    page.get_by_label(re.compile("password", re.IGNORECASE)).fill(PASSWORD)
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    check_readable(page, "recovery-codes")
    codes = page.locator(".recovery-codes code").all_inner_texts()
    assert len(codes) == 10
    page.get_by_role("link", name="I have stored them").click()
    page.wait_for_url("**/account")
    page.goto(f"{server.url}/account/second-factor/recovery-codes")
    check_readable(page, "new-recovery-codes")
    page.context.clear_cookies()
    page.goto(f"{server.url}/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/sign-in/code")
    check_readable(page, "code")
    page.get_by_label(re.compile("code", re.IGNORECASE)).fill("123456")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    check_readable(page, "code-refused")
    page.get_by_label(re.compile("code", re.IGNORECASE)).fill(codes[0])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()
    page.goto(f"{server.url}/account/second-factor/off")
    check_readable(page, "second-factor-off")
    page.get_by_label(re.compile("password", re.IGNORECASE)).fill(PASSWORD)
    page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_tokens_and_refused_pages(page: Page, server: LiveServer) -> None:
    sign_in(page, server, "ines")
    page.goto(f"{server.url}/account/tokens")
    page.get_by_role("button", name="Make, and show it once").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check_readable(page, "tokens-refused")
    page.locator("#label").fill("Nightly export")
    page.get_by_role("checkbox").first.check()
    page.get_by_label(re.compile("password", re.IGNORECASE)).fill(PASSWORD)
    page.get_by_role("button", name="Make, and show it once").click()
    expect(page.locator("code.token")).to_be_visible()
    check_readable(page, "tokens")
    draft = make_draft(server.store, "Out of date", QUESTION)
    page.goto(f"{server.url}/drafts/{draft.id}/delete")
    page.context.clear_cookies()
    page.locator("main form button").first.click()
    expect(page.get_by_role("heading", name="This form is out of date")).to_be_visible()
    check_readable(page, "stale")
    sign_in(page, server, "ines")
    for name, path in {
        "no-such-survey": f"/surveys/{'0' * 64}",
        "no-such-page": "/nowhere",
        "not-an-admin": "/accounts",
        "no-respondents": f"/s/{'0' * 64}",
    }.items():
        page.goto(server.url + path)
        check_readable(page, name)


def test_signing_in_over_an_open_network_is_refused(page: Page, server: LiveServer, tmp_path: Path) -> None:
    """The page as another machine gets it, with this server's files."""
    app = create_app(Config(data=tmp_path / "data", testing=True))
    refused = app.test_client().get("/sign-in", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert refused.status_code == 403

    def answer(route: Route) -> None:
        route.fulfill(status=403, body=refused.text, content_type="text/html; charset=utf-8")

    page.route("**/sign-in", answer)
    page.goto(f"{server.url}/sign-in")
    expect(page.get_by_role("heading", name="Sign-in is refused on this connection")).to_be_visible()
    check_readable(page, "unencrypted")
    page.unroute("**/sign-in")
