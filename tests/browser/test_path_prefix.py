"""A server below a path in a browser: no page and no script asks for anything outside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hushpoll_server.collect.invitations import invite
from hushpoll_server.people import accounts
from playwright.sync_api import Page, expect

from tests.browser.respondent import CHEATED, draft
from tests.browser.workspace_kit import PASSWORD, watch
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    live = LiveServer(tmp_path_factory.mktemp("node"), PUBLIC_URL="http://127.0.0.1/polls")
    accounts.add_user(live.store, "ines", "designer", PASSWORD)
    live.start()
    yield live
    live.close()


def test_answering_and_writing_stay_below_the_path(page: Page, server: LiveServer) -> None:
    address = f"{server.url}/polls"
    strays: list[str] = []
    page.on("request", lambda request: request.url.startswith(address) or strays.append(request.url))
    page.on("response", lambda answer: answer.status < 400 or strays.append(answer.url))
    faults = watch(page)
    survey = draft(CHEATED, title="Below a path", invitation=True)
    server.store.publish(survey, "ines")
    (code,) = invite(server.store, survey.hash, 1)

    page.goto(f"{address}/s/{survey.hash[:12]}#{survey.hash}.{code}")
    page.get_by_role("button", name="Start").click()
    page.get_by_label("Yes", exact=True).check()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Sent")).to_be_visible()

    page.goto(f"{address}/sign-in")
    page.get_by_label("Name").fill("ines")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=re.compile("first survey|New survey")).first.click()
    page.get_by_role("button", name="Blank survey").click()
    page.get_by_label("Title", exact=True).fill("Written below a path")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice-done")).to_have_text("Saved.")
    page.get_by_role("button", name="Yes or no").click()
    page.get_by_label("Question", exact=True).fill("Did you work unpaid hours?")
    page.get_by_role("button", name="Add the question").click()
    page.get_by_role("link", name="Publish").click()
    expect(page.get_by_role("button", name="Publish for good")).to_be_visible()
    assert (strays, faults) == ([], [])
