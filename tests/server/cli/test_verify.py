"""`hushpoll verify` and the hashes pinned at build: a changed file is found, from outside and at start."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import hushpoll_server
import pytest
from flask import Flask
from hushpoll_client import HushpollError, Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_server.collect.closing import close
from hushpoll_server.collect.retention import set_day
from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.respond.manifest import asset_paths, release
from hushpoll_server.serve.asset_pins import check_pins
from hushpoll_server.serve.demo import first_start
from hushpoll_server.store.surveys import Store, today
from werkzeug.serving import make_server

from hatch_build import BuildHook
from tests.command import run_command
from tests.serving import LONGEST, LiveServer, make_survey

# All files of the page, the document, the page as it was opened and in each language, and the sentences of each.
COMPARED = len(asset_paths()) + 2 + 2 * len(LANGUAGES)
ONE = pytest.mark.parametrize("backend", ["sqlite"])


class Tampered:
    """A server that changes the answers of some addresses on their way."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app
        self.change: dict[str, Callable[[bytes], bytes]] = {}
        self.headers: dict[str, dict[str, str | None]] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        change = self.change.get(environ["PATH_INFO"], lambda body: body)
        original: list[Any] = []
        body = b"".join(self.app(environ, lambda status, headers, *_: original.extend([status, headers])))
        changed = change(body)
        replaced = self.headers.get(environ["PATH_INFO"], {})
        headers = [(name, value) for name, value in original[1] if name not in {"Content-Length", *replaced}]
        headers += [(name, value) for name, value in replaced.items() if value is not None]
        start_response(original[0], [*headers, ("Content-Length", str(len(changed)))])
        return [changed]


@pytest.fixture
def served(app: Flask) -> Iterator[tuple[Tampered, str]]:
    """The application on a port, behind a proxy that tampers with its answers."""
    between = Tampered(app)
    server = make_server("127.0.0.1", 0, between, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield between, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status, out, err = run_command(capsys, "verify", *arguments)
    return status, out + err


@ONE
def test_what_a_server_serves_is_compared_byte_for_byte(
    served: tuple[Tampered, str], store: Store, survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    between, origin = served
    link = survey_link(origin, survey.hash)
    assert run(capsys, origin)[0] == 0
    status, printed = run(capsys, link)
    assert (status, "all as in this release" in printed) == (0, True)
    verdict = json.loads(run(capsys, link, "--json")[1])
    assert (verdict["url"], verdict["different"], verdict["says"]) == (link, [], [])
    close(store, survey.hash)
    assert run(capsys, link)[0] == 0
    page = f"/s/{survey.hash}"
    for path, change in {
        f"/static/{release()}/client/survey.js": lambda body: body + b"\n",
        f"/static/{release()}/respond/page.js": lambda body: body.replace(b"import", b"import ", 1),
        page: lambda body: body.replace(b"</title>", b".</title>", 1),
    }.items():
        between.change = {path: change}
        status, printed = run(capsys, link)
        assert (status, f"DIFFERENT  {origin}{path}" in printed) == (1, True), printed
        status, printed = run(capsys, link, "--json")
        verdict = json.loads(printed)
        assert (status, {url.partition("?")[0] for url in verdict["different"]}) == (1, {f"{origin}{path}"})
        assert verdict["compared"] > 10
    # A changed sentence, in one language, with every module intact.
    between.change = {page: lambda body: body.replace(b"Senden", b"Sende!")}
    status, printed = run(capsys, link)
    assert (status, printed.splitlines()[0]) == (1, f"DIFFERENT  {origin}{page}?lang=de")
    between.change = {f"/api/surveys/{survey.hash}": lambda body: body.replace(b"Exam", b"Ezam")}
    assert run(capsys, link)[0] == 2


@ONE
def test_the_address_in_the_link_and_its_headers_are_compared(
    served: tuple[Tampered, str], survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    """People open the short address: an added script, a redirect or a missing policy there is reported."""
    between, origin = served
    link = survey_link(origin, survey.hash)
    short, module = f"/s/{survey.hash[:12]}", f"/static/{release()}/respond/page.js"
    assert f"{origin}{short}#" in link
    between.change = {short: lambda body: b"<script src=/other.js></script>" + body}
    assert run(capsys, link) == (
        1,
        f"DIFFERENT  {origin}{short}\n1 of {COMPARED} files are not those of this release.\n",
    )
    between.change = {}
    for path, headers in (
        (short, {"Refresh": "0; url=/s/other"}),
        (short, {"Content-Security-Policy": None}),
        (short, {"Content-Security-Policy": "default-src *"}),
        (module, {"Content-Type": "text/html"}),
        (short, {"Clear-Site-Data": '"storage"'}),
        (short, {"Set-Cookie": "who=42; Path=/"}),
        (f"/api/surveys/{survey.hash}", {"Set-Cookie": "who=42; Path=/"}),
        (module, {"Reporting-Endpoints": 'd="https://evil.example/r"'}),
        (short, {"NEL": '{"report_to": "d", "max_age": 9999, "success_fraction": 1}'}),
        (short, {"Speculation-Rules": '"/rules.json"'}),
        (
            short,
            {"Content-Security-Policy-Report-Only": "default-src 'none'; report-uri https://evil.example/"},
        ),
        (short, {"Permissions-Policy": "camera=*"}),
        (short, {"X-Whatever-Comes-Next": "1"}),
        (short, {"X-Content-Type-Options": ""}),
    ):
        between.headers = {path: headers}
        status, printed = run(capsys, link)
        (name,) = headers
        assert (status, printed.splitlines()[0]) == (
            1,
            f"DIFFERENT  {origin}{path}  (headers: {name.lower()})",
        )
    assert json.loads(run(capsys, link, "--json")[1])["headers"] == {f"{origin}{short}": [name.lower()]}
    # What servers and proxies say of themselves is no alarm.
    between.headers = {
        short: {"Via": "1.1 proxy", "Server": "nginx", "Strict-Transport-Security": "max-age=1"}
    }
    assert run(capsys, link)[0] == 0


@ONE
def test_an_installed_server_is_as_in_its_release(
    live: Callable[..., LiveServer], capsys: pytest.CaptureFixture[str]
) -> None:
    """As gunicorn sends it, with the headers that it adds."""
    server = live()
    survey = make_survey()
    server.store.publish(survey)
    assert run(capsys, survey_link(server.url, survey.hash)) == (
        0,
        f"{COMPARED} files, all as in this release.\n",
    )


@ONE
def test_the_page_at_the_link_is_compared_also_below_a_path(
    served: tuple[Tampered, str], survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    """An honest server at the host's root says nothing about what answers below /x."""
    between, origin = served
    assert run(capsys, survey_link(f"{origin}/x", survey.hash))[0] == 2  # there is nothing

    def evil(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"].startswith("/x/s/"):
            start_response("200 OK", [("Content-Type", "text/html")])
            return [b"<script>steal()</script>"]
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/x")
        return app(environ, start_response)

    app, between.app = between.app, evil
    link = survey_link(f"{origin}/x", survey.hash)
    status, printed = run(capsys, link)
    assert (status, f"DIFFERENT  {origin}/x/s/{survey.hash[:12]}" in printed.splitlines()) == (1, True)
    assert run(capsys, survey_link(origin, survey.hash))[0] == 0
    assert run(capsys, f"{origin}/")[0] == 0


@ONE
def test_what_another_address_serves_is_not_compared(
    served: tuple[Tampered, str], survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that redirects to an honest one is not honest."""
    _, honest = served

    def redirect(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        query = environ["QUERY_STRING"] and f"?{environ['QUERY_STRING']}"
        start_response("302 Found", [("Location", f"{honest}{environ['PATH_INFO']}{query}")])
        return []

    server = make_server("127.0.0.1", 0, redirect, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        status, printed = run(capsys, survey_link(f"http://127.0.0.1:{server.server_port}", survey.hash))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert (status, printed.count("\n")) == (2, 1)
    assert f"leads on to {honest}/" in printed


@ONE
def test_the_operators_texts_are_printed_and_left_out_of_the_comparison(
    served: tuple[Tampered, str], app: Flask, store: Store, survey: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    between, origin = served
    link, page = survey_link(origin, survey.hash), f"/s/{survey.hash}"
    config = app.config["HUSHPOLL"]
    app.config["HUSHPOLL"] = replace(
        config, imprint='The <Office> & "Co"', imprint_url="https://example.org/i"
    )
    status, printed = run(capsys, link)
    assert (status, 'The <Office> & "Co" https://example.org/i' in printed) == (0, True), printed
    app.config["HUSHPOLL"] = replace(config, imprint_url="https://example.org/i")
    assert run(capsys, link)[0] == 0
    store.set_results_public(survey.hash, True, True)
    assert run(capsys, link)[0] == 0
    day = today() + datetime.timedelta(days=30)
    set_day(store, survey.hash, day, "test")
    status, printed = run(capsys, link)
    assert (status, f"all reports are deleted on {day}" in printed) == (0, True), printed
    # Nothing but text and an address can hide in it.
    for inside in (b"<b>x</b>", b'" onclick="x'):
        between.change = {
            page: lambda body, more=inside: body.replace(b"example.org/i", b"example.org/" + more)
        }
        assert run(capsys, link)[0] == 1


@ONE
def test_a_survey_with_public_results_is_as_in_its_release(
    served: tuple[Tampered, str], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page links to public results, while it is open where they are live, and after closing; the demo's too."""
    between, origin = served
    demo, _ = first_start(store)
    later = make_survey("Public after closing")
    store.publish(later, results_public=True)
    live = make_survey("Public all the time")
    store.publish(live, results_live=True)
    links = {survey_hash: survey_link(origin, survey_hash) for survey_hash in (demo, later.hash, live.hash)}
    for is_closed in (False, True):
        for survey_hash, link in links.items():
            if is_closed:
                close(store, survey_hash)
            status, printed = run(capsys, link)
            assert status == 0, printed
            served_now = urllib.request.urlopen(f"{origin}/s/{survey_hash}").read()
            state = store.state(survey_hash)
            assert state is not None
            assert (f'"/results/{survey_hash}"'.encode() in served_now) == state.is_public
    # A link to anything else than these results is found still.
    page = f"/s/{live.hash}"
    between.change = {page: lambda body: body.replace(b'"/results/', b'"/resu1ts/')}
    assert run(capsys, links[live.hash])[0] == 1
    words = f"/static/{release()}/words/fr.json"
    between.change = {words: lambda body: body + b" "}
    status, printed = run(capsys, links[live.hash])
    assert (status, printed.splitlines()[0]) == (1, f"DIFFERENT  {origin}{words}")


@ONE
def test_bad_addresses_are_refused(capsys: pytest.CaptureFixture[str], survey: Survey) -> None:
    for address in (
        "survey.example.org",
        "http://[::1",
        "http://a:b:c/",
        "http://a b/",
        f"http://{'a' * 64}.org/",
        "http://:80/",
    ):
        status, printed = run(capsys, address)
        assert (status, printed.count("\n"), "is not an address" in printed) == (2, 1, True), printed
    status, printed = run(capsys, "http://127.0.0.1:9/")
    assert (status, "no answer" in printed) == (2, True)


def test_a_changed_or_added_file_stops_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "hushpoll_client" / "js"
    folder.mkdir(parents=True)
    pinned = tmp_path / "hushpoll_server" / "assets.sha256"
    assert check_pins(pinned) is None
    pinned.parent.mkdir()
    (folder / "random.js").write_bytes(b"draw();")
    pinned.write_text(f"{hashlib.sha256(b'draw();').hexdigest()}  hushpoll_client/js/random.js\n")
    assert check_pins(pinned) == 1
    (folder / "more.js").write_bytes(b"")
    with pytest.raises(HushpollError, match=r"more\.js: is not a file of this release"):
        check_pins(pinned)
    (folder / "more.js").unlink()
    (folder / "random.js").write_bytes(b"draw(); ")
    with pytest.raises(HushpollError, match="not the file of this release"):
        check_pins(pinned)


ROOT = Path(hushpoll_server.__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The packages as a wheel would install them, with the hashes that are pinned at build."""
    packages = tmp_path / "installed"
    for folder in ("server/hushpoll_server", "client/hushpoll_client", "analysis/hushpoll_analysis"):
        shutil.copytree(
            ROOT / folder, packages / Path(folder).name, ignore=shutil.ignore_patterns("__pycache__")
        )
    hook = BuildHook(str(ROOT), {}, None, None, str(tmp_path), "wheel")
    build: dict[str, Any] = {"force_include": {}}
    hook.initialize("standard", build)
    (pinned,) = (
        Path(path) for path, name in build["force_include"].items() if name.endswith("assets.sha256")
    )
    shutil.copy(pinned, packages / "hushpoll_server" / "assets.sha256")
    hook.folder.cleanup()
    return packages


def serve(installed: Path, data: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "DATA": str(data), "PORT": "0", "THREADS": "4"}
    return subprocess.Popen(
        [sys.executable, "-c", "from hushpoll_client.cli import main; main()", "serve"],
        env={**environment, "DATABASE_URL": "", "HOST": "127.0.0.1"},
        cwd=installed,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_serve_refuses_a_changed_file_and_warns_of_an_open_folder(installed: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    with serve(installed, data) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Respondents: http://127.0.0.1:")
        # It has said all that it says; whether gunicorn runs by now does not matter.
        process.terminate()
        _, err = process.communicate(timeout=LONGEST)
    warning = f"Warning: {data}: other users of this machine can look into it (mode 0755); chmod 700 {data}"
    assert warning in err.splitlines()
    changed = installed / "hushpoll_client" / "js" / "report.js"
    changed.write_bytes(changed.read_bytes() + b"\n")
    with serve(installed, data) as process:
        out, err = process.communicate(timeout=LONGEST)
    assert (process.returncode, out) == (2, "")
    assert err.splitlines() == [
        f"hushpoll: {changed}: is not the file of this release; install the release again"
    ]
