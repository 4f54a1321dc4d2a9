"""Other engines than Chromium's, driven by what Debian has: WebKit, which iPhones run, and Firefox."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import websocket
from selenium.webdriver import WebKitGTK, WebKitGTKOptions
from selenium.webdriver.webkitgtk.service import Service

SECONDS = 300


class Engine(Protocol):
    """A page of a browser; `evaluate` calls a function's source with one value, as Playwright does."""

    def goto(self, url: str) -> None:
        """Open an address and wait until it is loaded."""

    def evaluate(self, source: str, value: Any = None) -> Any:
        """Call a function, wait for its promise and give its value."""


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    assert path, f"no {name} on PATH: install it (Debian: apt-get install {package}), or run `make prove`"
    return path


class WebKit:
    """WebKit through its WebDriver."""

    def __init__(self, driver: WebKitGTK) -> None:
        self.driver = driver

    def goto(self, url: str) -> None:
        self.driver.get("about:blank")  # an address that differs after # alone would load nothing
        self.driver.get(url)

    def evaluate(self, source: str, value: Any = None) -> Any:
        outcome = self.driver.execute_async_script(
            f"""const [given, done] = arguments;
            const call = async () => JSON.stringify((await ({source})(JSON.parse(given))) ?? null);
            call().then((text) => done({{ text }}), (error) => done({{ error: String(error) }}));""",
            json.dumps(value),
        )
        assert "error" not in outcome, outcome["error"]
        return json.loads(outcome["text"])


@contextmanager
def webkit() -> Iterator[WebKit]:
    """Start WebKit on a virtual screen."""
    browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-*/MiniBrowser"))
    assert browsers, "no MiniBrowser of WebKitGTK: install it (Debian: apt-get install webkit2gtk-driver)"
    with _screen():
        options = WebKitGTKOptions()
        options.binary_location = str(browsers[-1])
        options.add_argument("--automation")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Selenium's own way to its own server
            driver = WebKitGTK(options, Service(_program("WebKitWebDriver", "webkit2gtk-driver")))
        driver.set_script_timeout(SECONDS)
        try:
            yield WebKit(driver)
        finally:
            driver.quit()


@contextmanager
def _screen() -> Iterator[None]:
    read_end, write = os.pipe()
    command = [
        _program("Xvfb", "xvfb"),
        "-displayfd",
        str(write),
        "-nolisten",
        "tcp",
        "-screen",
        "0",
        "1280x900x24",
    ]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read_end) as display:
        number = display.readline().strip()
    before = dict(os.environ)
    # WebKit puts its pages into a sandbox that needs rights which a container does not give.
    os.environ.update(
        DISPLAY=f":{number}", WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS="1", LIBGL_ALWAYS_SOFTWARE="1"
    )
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.terminate()
        server.wait(SECONDS)


class Firefox:
    """Firefox through WebDriver BiDi."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self.socket, self.numbers = socket, itertools.count(1)
        self.call("session.new", capabilities={})
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its answer, past whatever events come."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv())).get("id") != number:
            pass
        assert answer["type"] == "success", answer
        return answer["result"]

    def goto(self, url: str) -> None:
        for address in ("about:blank", url):
            self.call("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, source: str, value: Any = None) -> Any:
        outcome = self.call(
            "script.callFunction",
            functionDeclaration=f"async (text) => JSON.stringify((await ({source})(JSON.parse(text))) ?? null)",
            awaitPromise=True,
            arguments=[{"type": "string", "value": json.dumps(value)}],
            target={"context": self.context},
        )
        assert outcome["type"] == "success", outcome
        return json.loads(outcome["result"]["value"])


@contextmanager
def firefox() -> Iterator[Firefox]:
    """Start Firefox without a window and with a fresh profile."""
    with tempfile.TemporaryDirectory(prefix="firefox", ignore_cleanup_errors=True) as profile:
        command = [
            _program("firefox-esr", "firefox-esr"),
            "--headless",
            "--no-remote",
            "--remote-debugging-port=0",
        ]
        log = Path(profile) / "said"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*command, "--profile", profile], stdout=out, stderr=out, start_new_session=True,
                env={**os.environ, "HOME": profile, "MOZ_DISABLE_CONTENT_SANDBOX": "1"},
            )  # fmt: skip
        try:
            socket = websocket.create_connection(
                f"{_address(log, process)}/session", timeout=SECONDS, suppress_origin=True
            )
            yield Firefox(socket)
            socket.close()
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(SECONDS)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if listening := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text(errors="replace")):
            return listening[1]
        assert process.poll() is None, log.read_text(errors="replace")
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace"))


ENGINES = {"webkit": webkit, "firefox": firefox}
