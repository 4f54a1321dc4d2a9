"""Two nodes behind nginx, with HTTP/2 and below a path, are upgraded under load from the release before, in turn.

`previous-release` names its commit. Then they are upgraded once more, to a release whose module differs: pages that are
open get the files of their own release from every node. The old release's commit must be in the repository.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from hushpoll_client import Report, Survey

from tests.serving import LiveServer, Postgres, reserve

from .crowd import fresh_report
from .places import database, signed_survey
from .proxy import BEHIND_A_PROXY, NAME, SecureCrowd, proxy, request

ROOT = Path(__file__).parents[2]
PREVIOUS = Path(__file__).with_name("previous-release")
ROOMS = ("client", "analysis", "server")
FOLDERS = (*ROOMS, "docs")
"""The server shows the documentation, too."""
PREFIX = "/polls"
SETTINGS = {**BEHIND_A_PROXY, "PUBLIC_URL": f"https://{NAME}{PREFIX}"}
PAGE_MODULE = "server/hushpoll_server/respond/static/page.js"


def release_of(commit: str, folder: Path) -> Path:
    """Unpack the code of a commit."""
    command = ["git", "-C", str(ROOT), "archive", commit, *FOLDERS]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, f"{PREVIOUS.name}: {done.stderr.decode()}"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def present_release(folder: Path, addition: str = "") -> Path:
    """Copy the code as it is, with a line more in one module."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / PAGE_MODULE).open("a") as module:
        module.write(addition)
    return folder


class Upgradable(LiveServer):
    """A node as `hushpoll serve` starts it, from the code of one release or another."""

    def __init__(self, folder: Path, url: str, **environment: str) -> None:
        """Unlike other servers, leave the tables to the release that is started first."""
        folder.mkdir()
        self.folder, self.held, self.process = folder, reserve(), None
        self.port, self.log = self.held.getsockname()[1], folder / "server.log"
        settings = {"DATA": str(folder / "data"), "DATABASE_URL": url, "PORT": str(self.port)}
        self.environment = {**os.environ, "THREADS": "16", **environment, **settings}

    def command(self) -> list[str]:
        return [sys.executable, "-c", "from hushpoll_client.cli import main; main(['serve'])"]

    def use(self, release: Path) -> None:
        """Let the next start run the code of a release."""
        self.environment["PYTHONPATH"] = os.pathsep.join(str(release / room) for room in ROOMS)

    def run(self, *arguments: str) -> str:
        """Run a command of the release."""
        program = "import sys; from hushpoll_client.cli import main; main(sys.argv[1:])"
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def adopt(self) -> None:
        """Open the store with today's code, once a node of today has brought the tables up to date."""
        from hushpoll_server.config import Config
        from hushpoll_server.store.surveys import open_store

        self.config = Config.from_environment(self.environment)
        self.store = open_store(self.config)

    @property
    def workers(self) -> list[int]:
        """Process ids of gunicorn's workers; unknown here: old releases do not report them."""
        return [0]

    def close(self) -> None:
        if self.process is not None:
            self.kill()
        if hasattr(self, "store"):
            self.store.close()
        self.held.close()

    def _is_up(self) -> bool:
        try:
            return self.status("/healthz") == 200
        except OSError:
            return False


class CrowdBelowAPath(SecureCrowd):
    """Clients of a server that is below a path."""

    prefix = PREFIX


class OpenPage:
    """The files that a page which is open may still ask for, as they were when it was opened."""

    def __init__(self, node: Upgradable, survey: Survey) -> None:
        page = _get(node, f"{PREFIX}/s/{survey.hash}").decode()
        addresses = set(re.findall(PREFIX + r"/static/[0-9a-f]{16}/[\w./-]+", page))
        release = re.search(r"/static/([0-9a-f]{16})/", page)
        assert release, page
        addresses.add(f"{PREFIX}/static/{release[1]}/words/en.json")
        self.files = {address: _get(node, address) for address in sorted(addresses)}

    def check(self, *nodes: Upgradable) -> int:
        """Assert that every node serves these files; return how many there are."""
        for node in nodes:
            changed = [address for address, body in self.files.items() if _get(node, address) != body]
            assert not changed, f"an open page gets another release's {changed}"
        return len(self.files)


def _get(node: Upgradable, path: str) -> bytes:
    status, _, body = request(node.port, None, "GET", path, headers={"Host": "127.0.0.1"})
    assert status == 200, f"{path}: {status}"
    return body


def publish(node: Upgradable, survey: Survey, folder: Path) -> None:
    """Publish with the command of the node's release."""
    file = folder / "survey.json"
    file.write_bytes(survey.canonical)
    published = json.loads(node.run("survey", "publish", str(file), "--json"))
    assert published["hash"] == survey.hash


def over_http2(folder: Path, secure: int, survey: Survey) -> Report:
    """Send one more report by a program that speaks HTTP/2, as browsers do."""
    report, file = fresh_report(survey), folder / "report.json"
    file.write_bytes(report.to_bytes())
    options = {
        "--cacert": str(folder / "nginx" / "certificate.pem"),
        "--connect-to": f"{NAME}:443:127.0.0.1:{secure}",
        "--header": "Content-Type: application/json",
        "--data-binary": f"@{file}",
        "--output": os.devnull,
        "--write-out": "%{http_version} %{http_code}",
    }
    words = [word for option in options.items() for word in option]
    address = f"https://{NAME}{PREFIX}/api/surveys/{survey.hash}/reports"
    command = ["curl", "--silent", "--http2", *words, address]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "2 201", done
    return report


def upgrade_all(nodes: tuple[Upgradable, ...], release: Path, crowd: SecureCrowd, more: int) -> None:
    """Restart one node after the other with the code of a release, while reports come."""
    for node in nodes:
        crowd.wait_for_more(more)
        node.terminate()
        crowd.wait_for_more(more)
        node.use(release)
        node.start()
    crowd.wait_for_more(more)
    assert not crowd.problems, crowd.problems


def roll(folder: Path, url: str, more: int, tell: Callable[[str], None]) -> str:
    """Upgrade twice, and count."""
    before = release_of(PREVIOUS.read_text().strip(), folder / "before")
    today = present_release(folder / "today")
    after = present_release(folder / "after", "\n// Changed in the release after.\n")
    key = str(folder / "one" / "data" / "secret.key")
    first = Upgradable(folder / "one", url, **SETTINGS)
    second = Upgradable(folder / "two", url, **SETTINGS, SECRET_KEY_FILE=key)
    nodes = (first, second)
    try:
        for node in nodes:
            node.use(before)
            node.start()
        survey = signed_survey("Upgraded under load")
        publish(first, survey, folder)
        with proxy(folder / "nginx", (first.port, second.port), http2=True, prefix=PREFIX) as (
            secure,
            _,
            trust,
        ):
            CrowdBelowAPath.trust = trust
            crowd = CrowdBelowAPath(
                first, survey, clients=6, ports=(secure,), pause=0.01, allowed=lambda _: False
            )
            tell("from the release before to this one")
            upgrade_all(nodes, today, crowd, more)
            opened = OpenPage(first, survey)
            tell("to a release with another module")
            crowd.wait_for_more(more)
            first.terminate()
            first.use(after)
            first.start()
            newer = OpenPage(first, survey)
            assert set(newer.files) != set(opened.files)
            files = opened.check(first, second) + newer.check(first, second)
            upgrade_all((second,), after, crowd, more)
            opened.check(first, second)
            crowd.stop()
            crowd.acknowledged.append(over_http2(folder, secure, survey))
        refused = [status for status in crowd.statuses if status not in (200, 201)]
        assert not refused, f"{len(refused)} reports were refused: {sorted(set(refused))}"
        first.use(today)
        first.adopt()
        reports = crowd.check()
    finally:
        for node in nodes:
            node.close()
    return f"two upgrades of two nodes: {reports:,} reports, 0 lost, 0 doubled, 0 refused; {files} files as they were"


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Upgrade two nodes twice on PostgreSQL."""
    with (
        tempfile.TemporaryDirectory(prefix="prove") as folder,
        database("postgresql", cluster, "template0") as url,
    ):
        return roll(Path(folder), url, max(10, round(200 * size)), tell)
