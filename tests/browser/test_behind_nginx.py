"""The documented deployment in a browser: nginx of deploy/ with TLS, from signing in to signing out."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shutil
import socket
import ssl
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hushpoll_client import Report
from hushpoll_server.collect.invitations import invite
from hushpoll_server.people import accounts, tokens
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import FLAGS, chromium_path
from tests.browser.respondent import CHEATED, draft
from tests.browser.waiting import LONGEST
from tests.browser.workspace_kit import PASSWORD, watch
from tests.prove.proxy import BEHIND_A_PROXY, NAME, proxy, request
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
ADDRESS = f"https://{NAME}"
PEOPLE = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with the settings that the operators' page asks for behind nginx."""
    live = LiveServer(tmp_path_factory.mktemp("node"), **{**BEHIND_A_PROXY, "SEAL_EVERY": "86400"})
    accounts.add_user(live.store, "ines", "designer", PASSWORD)
    live.start()
    yield live
    live.close()


@pytest.fixture(scope="module", params=[False, True], ids=["http/1.1", "http/2"])
def secure(
    request: pytest.FixtureRequest, server: LiveServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, ssl.SSLContext]]:
    """nginx in front of the server: its port, and what trusts its certificate."""
    folder = tmp_path_factory.mktemp("proxy") / "nginx"
    with proxy(folder, (server.port,), http2=request.param) as (port, _, trust):
        yield port, trust


@pytest.fixture
def page(browser: Browser, secure: tuple[int, ssl.SSLContext]) -> Iterator[Page]:
    """A page of a Chromium that finds the deployment under its name."""
    rule = f"--host-resolver-rules=MAP {NAME}:443 127.0.0.1:{secure[0]}"
    chromium = browser.browser_type.launch(
        executable_path=chromium_path(), args=[*FLAGS, rule], timeout=LONGEST
    )
    # The certificate vouches for itself, which no browser believes.
    context = chromium.new_context(ignore_https_errors=True, accept_downloads=True)
    context.set_default_timeout(LONGEST)
    page = context.new_page()
    faults = watch(page)
    yield page
    chromium.close()
    assert faults == []


def sign_in(page: Page) -> None:
    page.goto(f"{ADDRESS}/sign-in")
    page.get_by_label("Name").fill("ines")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()


def downloaded(page: Page, name: str, role: str = "button") -> bytes:
    """Return the bytes of a file that a button or a link downloads."""
    with page.expect_download() as waiting:
        page.get_by_role(role, name=name).click()  # type: ignore[arg-type]
    return Path(waiting.value.path()).read_bytes()


def test_a_survey_from_signing_in_to_signing_out(
    page: Page, server: LiveServer, secure: tuple[int, ssl.SSLContext]
) -> None:
    sign_in(page)

    # Write and publish.
    page.get_by_role("link", name=re.compile("first survey|New survey")).first.click()
    page.get_by_role("button", name="Blank survey").click()
    page.get_by_label("Title", exact=True).fill(f"Over HTTPS through port {secure[0]}")
    page.get_by_text("Settings: who may answer").click()
    page.get_by_label("Only people with an invitation code may answer").check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice-done")).to_have_text("Saved.")
    page.get_by_role("button", name="Yes or no").click()
    page.get_by_label("Question", exact=True).fill("Did you work unpaid hours?")
    page.get_by_role("button", name="Add the question").click()
    page.get_by_role("link", name="Publish").click()
    page.get_by_label("I understand that a published survey cannot be changed").check()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_role("heading", name="Over HTTPS")).to_be_visible()
    survey_page = page.url

    # Invite: the list has a link of the public address for each person.
    page.get_by_label("Number of codes").fill(str(PEOPLE))
    listed = downloaded(page, "Make invitations and download the list").decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(listed)))
    links = [next(cell for cell in row.values() if cell.startswith("https://")) for row in rows]
    assert len(links) == PEOPLE
    assert all(link.startswith(f"{ADDRESS}/s/") for link in links)

    # Answer: the first person in the browser, the others by programs, all through nginx.
    page.goto(links[0])
    page.get_by_role("button", name="Start").click()
    page.get_by_label("Yes", exact=True).check()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Sent")).to_be_visible()
    survey_hash = links[0].partition("#")[2].partition(".")[0]
    survey = server.store.get_survey(survey_hash)
    assert survey is not None
    port, trust = secure
    for link in links[1:]:
        body = Report.new(survey, [0]).to_bytes(link.rpartition(".")[2])
        path, headers = f"/api/surveys/{survey_hash}/reports", {"Content-Type": "application/json"}
        assert request(port, trust, "POST", path, body, headers)[0] == 201

    # Close, download, sign out.
    page.goto(survey_page)
    page.get_by_role("link", name="Close now").click()
    page.get_by_role("button", name="Close the survey").click()
    expect(page.get_by_text("takes no more reports")).to_be_visible()
    page.goto(f"{ADDRESS}/surveys/{survey_hash}/report")
    with zipfile.ZipFile(io.BytesIO(downloaded(page, "Download the reports (zip)", "link"))) as archive:
        name = next(name for name in archive.namelist() if name.endswith("reports.csv"))
        assert len(archive.read(name).splitlines()) == PEOPLE + 1
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(survey_page)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_report_of_the_largest_size_never_touches_the_disk_of_nginx(
    server: LiveServer, tmp_path: Path
) -> None:
    """Bodies above 16 KB, with the invitation's code in them, were written to a file first."""
    survey = draft(CHEATED, title="Of full length", invitation=True)
    server.store.publish(survey)
    codes = invite(server.store, survey.hash, 2)
    reports, headers = f"/api/surveys/{survey.hash}/reports", {"Content-Type": "application/json"}
    token = tokens.make(server.store, "ines", "batches", ["batch"], actor="test")
    with proxy(tmp_path / "nginx", (server.port,)) as (port, _, trust):
        # nginx cannot write what has no place.
        shutil.rmtree(tmp_path / "nginx" / "client_body")
        body = Report.new(survey, [0]).to_bytes(codes[0]).ljust(64 * 1024)
        assert request(port, trust, "POST", reports, body, headers)[0] == 201
        batch = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {token}"}
        line = Report.new(survey, [0]).to_bytes(codes[1]).ljust(500_000)
        assert request(port, trust, "POST", f"{reports}/batch", line, batch)[0] == 201


class LongAnswer(BaseHTTPRequestHandler):
    """A node that sends a list of many codes."""

    body = b"code" * 4_000_000
    sent = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(self.body)
        self.sent.set()

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.mark.parametrize("path", ["/surveys/x/invitations", "/account", "/s/x"])
def test_an_answer_to_a_slow_reader_never_touches_the_disk_of_nginx(tmp_path: Path, path: str) -> None:
    """Lists of invitation codes and exports were written to a file for slow readers."""
    node = ThreadingHTTPServer(("127.0.0.1", 0), LongAnswer)
    threading.Thread(target=node.serve_forever, args=(0.02,), daemon=True).start()
    LongAnswer.sent.clear()
    with proxy(tmp_path / "nginx", (node.server_port,)) as (port, _, trust), socket.socket() as plain:
        shutil.rmtree(tmp_path / "nginx" / "proxy")  # nginx cannot write what has no place
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect(("127.0.0.1", port))
        with trust.wrap_socket(plain, server_hostname=NAME) as reader:
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode())
            assert not LongAnswer.sent.wait(1.0), "nginx took the whole answer, and nobody has read it"
            content = b"".join(iter(lambda: reader.recv(1 << 16), b""))
    node.shutdown()
    node.server_close()
    assert content.partition(b"\r\n\r\n")[2] == LongAnswer.body


def test_a_form_of_another_site_is_refused(page: Page) -> None:
    """A page of another origin that knows a token still cannot sign a visitor in or out."""
    sign_in(page)
    token = page.locator("input[name=csrf_token]").first.input_value()
    page.route("https://evil.example/", lambda route: route.fulfill(body="<title>Evil</title>"))
    page.goto("https://evil.example/")
    with page.expect_navigation() as waiting:
        page.evaluate(
            """([address, token]) => {
              const form = document.createElement("form");
              form.method = "post";
              form.action = address;
              const field = document.createElement("input");
              field.name = "csrf_token";
              field.value = token;
              form.append(field);
              document.body.append(form);
              form.submit();
            }""",
            [f"{ADDRESS}/sign-out", token],
        )
    assert waiting.value.status == 403
    page.goto(f"{ADDRESS}/surveys")
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()
