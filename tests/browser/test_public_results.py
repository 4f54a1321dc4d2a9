"""Public results in a real Chromium, embedded in a page of another site."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from hushpoll_server.collect import retention
from playwright.sync_api import Browser, Page, expect

from tests.browser.workspace_kit import QUESTION, make_draft, watched
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched(browser) as page:
        yield page


class OtherSite(BaseHTTPRequestHandler):
    """A page of another site, with the embed code in it."""

    body = b""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.body)


def test_public_results_are_embedded_only_if_the_owner_allows_it(
    browser: Browser, server: LiveServer
) -> None:
    page = browser.new_page()
    survey = make_draft(server.store, "Embedded", QUESTION).survey()
    server.store.publish(survey, "ines")
    server.store.set_results_public(survey.hash, True, live=True)
    embed = f"{server.url}/results/{survey.hash}/embed"
    OtherSite.body = f'<!doctype html><title>News</title><iframe src="{embed}" width="300"></iframe>'.encode()
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as site:
        Thread(target=site.serve_forever, args=(0.02,), daemon=True).start()
        # Another name of this machine is another site to a browser.
        elsewhere = f"http://localhost:{site.server_port}/"
        page.goto(elsewhere)
        expect(page.frame_locator("iframe").get_by_text(survey.title)).to_have_count(0)
        retention.set_embeddable(server.store, survey.hash, True, "ines")
        page.goto(elsewhere)
        expect(page.frame_locator("iframe").get_by_text(survey.title).first).to_be_visible()
        site.shutdown()
    page.close()
