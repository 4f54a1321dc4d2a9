"""A real Chromium, a fresh context per test, and a small static server for the browser's modules."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import hushpoll_client
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.respondent import either_server, page_server
from tests.browser.waiting import LONGEST
from tests.browser.workspace_kit import signed_in_page, workspace
from tests.postgres import postgres
from tests.serving import LiveServer

__all__ = ["either_server", "page_server", "postgres"]

# What a page comes to show is tested, not how soon: the machine may be busy with other things.
expect.set_options(timeout=LONGEST)

JS_FOLDER = Path(hushpoll_client.__file__).parent / "js"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files without a log; modules need a JavaScript content type whatever the machine's table says."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/":
            body = b"<!doctype html><meta charset=utf-8><link rel=icon href='data:,'><title>modules</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()


def chromium_path() -> str:
    """The machine's own Chromium, without its window where there is one like that; nothing is downloaded."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    assert path, "no Chromium on PATH: install it (Debian: apt-get install chromium), or run `make test`"
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole session."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS, timeout=LONGEST)
        chromium.on("context", lambda context: context.set_default_timeout(LONGEST))
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh context: no storage, cookies or cache of another test."""
    context = browser.new_context()
    yield context
    # What a handler of requests still does when its page goes would be raised in the next test.
    for page in context.pages:
        page.unroute_all(behavior="ignoreErrors")
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A blank page in a fresh context."""
    return context.new_page()


@pytest.fixture(params=["dark en", "light ar", pytest.param("light en", marks=pytest.mark.long)])
def reader(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """Respondents on a phone: in dark and in light colours, and from right to left."""
    scheme, language = request.param.split()
    size = {"width": 390, "height": 844}
    context = browser.new_context(color_scheme=scheme, locale=language, viewport=size)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def js_server() -> Iterator[str]:
    """Serve the js folder; yield its address without a slash at the end."""
    handler = partial(QuietHandler, directory=str(JS_FOLDER))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def js(page: Page, js_server: str) -> Page:
    """A page of the js server: `js.evaluate` may `await import("/channel.js")`."""
    page.goto(f"{js_server}/")
    return page


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A workspace with a designer, an analyst and an admin, for a whole module."""
    with workspace(tmp_path_factory.mktemp("workspace")) as live:
        yield live


@pytest.fixture
def designer(browser: Browser, server: LiveServer) -> Iterator[Page]:
    """A signed-in designer at a desk; the test fails on any error of the page."""
    with signed_in_page(browser, server) as page:
        yield page


@pytest.fixture(
    params=[pytest.param((1280, "light"), marks=pytest.mark.long), (390, "dark")], ids=["wide", "phone"]
)
def either_designer(request: pytest.FixtureRequest, browser: Browser, server: LiveServer) -> Iterator[Page]:
    """The same on a phone in dark colours and, with --long, at a desk too."""
    width, scheme = request.param
    with signed_in_page(browser, server, width=width, scheme=scheme) as page:
        yield page
