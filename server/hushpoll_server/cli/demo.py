"""`hushpoll demo`: a whole study in a minute, with estimates next to a truth that only the demo knows."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from hushpoll_client import HushpollError, SubmitError
from hushpoll_client.cli.output import json_option, print_json
from hushpoll_client.delivery.link import Link
from hushpoll_client.delivery.report import FEWEST_REPORTS
from tqdm import tqdm

from hushpoll_server.serve import demo_study
from hushpoll_server.serve.demo import demo_survey

START_SECONDS = 60


@click.command()
@click.option(
    "-n",
    "--number",
    type=click.IntRange(FEWEST_REPORTS, 100_000),
    default=2000,
    show_default=True,
    help="How many respondents.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the server (0: any free one)."
)
@click.option(
    "--stay/--leave",
    default=None,
    help="Keep serving the report afterwards, or stop. By default it stays on a terminal.",
)
@json_option
def demo(number: int, port: int, stay: bool | None, as_json: bool) -> None:
    """Let made-up respondents answer the demo survey through a real server, then estimate.

    A server starts on this machine with an empty data folder. Every respondent fetches the survey, randomizes on this
    side and sends one report over HTTP. The survey is closed, and the estimates are printed next to the hidden truth.
    Nothing is left behind.

    \b
    Examples:
      hushpoll demo
      hushpoll demo -n 10000 --leave
    """
    if stay is None:
        stay = sys.stdout.isatty() and not as_json
    with (
        tempfile.TemporaryDirectory(prefix="hushpoll-demo-") as folder,
        own_server(Path(folder), port) as address,
    ):
        started = time.monotonic()
        survey = demo_study.fetch_survey(address, demo_survey().hash)
        people = demo_study.respondents(number)
        with tqdm(total=number, unit=" reports", disable=None, desc="Answering") as bar:
            demo_study.send_all(address, survey, people, bar.update)
        close_survey(Path(folder), survey.hash)
        results = _results(address, survey.hash)
        rows = list(demo_study.compare(people, results))
        seconds = time.monotonic() - started
        report = f"{address}/surveys/{survey.hash}/report"
        if as_json:
            comparisons = [_row(row) for row in rows]
            print_json({"hash": survey.hash, "n": results["n"], "report": report, "rows": comparisons})
        else:
            _print(rows, results["n"], seconds)
        if stay:
            page = Path(folder) / "study.html"
            page.write_text(_page(rows, survey.title, number, report), "utf-8")
            _stay(page, report)


def _row(row: demo_study.Comparison) -> dict[str, Any]:
    return {**vars(row), "inside": row.inside}


def _print(rows: list[demo_study.Comparison], n: int, seconds: float) -> None:
    width = max(len(row.option) for row in rows)
    click.echo(f"\n{n:,} reports over HTTP in {seconds:.0f} s; the server saw only randomized ones.\n")
    click.echo(f"{'question':9} {'option':{width}}  {'hidden truth':>12}  {'estimate':>8}  95 % interval")
    for row in rows:
        hit = "" if row.inside else "   misses the truth"
        interval = f"{100 * row.low:5.1f} to {100 * row.high:4.1f}"
        shares = f"{100 * row.truth:10.1f} %  {100 * row.estimate:6.1f} %  {interval}"
        click.echo(f"{row.question:9} {row.option:{width}}  {shares}{hit}")
    held = sum(row.inside for row in rows)
    click.echo(f"\n{held} of {len(rows)} intervals hold the truth; on average 95 of 100 do.")


@contextmanager
def own_server(folder: Path, port: int) -> Iterator[str]:
    """Run a separate server in a new folder, yield its address and stop it at the end."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "PUBLIC_URL")
    }
    environment |= {
        "HUSHPOLL_CONFIG": os.devnull,
        "DATA": str(folder / "data"),
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "LOG_LEVEL": "error",
    }
    command = [sys.executable, "-c", "from hushpoll_client.cli import main; main(['serve'])"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603
            command, env=environment, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        assert process.stdout is not None
        address = None
        with contextlib.suppress(SubmitError, IndexError):  # it ended before it named an address
            address = Link.parse(process.stdout.readline().decode().split()[-1]).server
        if address is None or not _answers(address, process):
            reason = "it printed nothing"
            if lines := (folder / "server.log").read_text("utf-8").strip().splitlines():
                reason = lines[-1]
            raise HushpollError(f"the server did not start: {reason}")
        yield address
    finally:
        process.terminate()
        process.wait(START_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def _answers(address: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers; False when it ends instead, or takes too long."""
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(HushpollError):
            if demo_study.Sender(address).request("GET", "/healthz")[0] == 200:
                return True
        time.sleep(0.05)
    return False


def close_survey(folder: Path, survey_hash: str) -> None:
    """Close the survey, as `hushpoll survey close` does; that seals the reports which still wait."""
    from hushpoll_server.collect.closing import close
    from hushpoll_server.config import Config
    from hushpoll_server.store.surveys import open_store

    store = open_store(Config(data=folder / "data"))
    try:
        close(store, survey_hash)
    finally:
        store.close()


def _results(address: str, survey_hash: str) -> dict[str, Any]:
    status, body = demo_study.Sender(address).request("GET", f"/api/surveys/{survey_hash}/results")
    if status != 200:
        raise HushpollError(f"the server answered {status} when asked for the results", "see its log")
    results: dict[str, Any] = json.loads(body)
    return results


def _page(rows: list[demo_study.Comparison], title: str, n: int, report: str) -> str:
    """Write the page that the demo opens: every interval with the truth marked in it."""
    from jinja2 import Environment, PackageLoader

    end = 0.5 if all(row.high <= 0.5 for row in rows) else 1.0

    def place(share: float) -> str:
        return f"{100 * min(max(share / end, 0), 1):.2f}%"

    pages = Environment(loader=PackageLoader("hushpoll_server.serve"), autoescape=True)
    page = pages.get_template("demo/study.html")
    return page.render(rows=rows, title=title, n=n, report=report, end=end, place=place)


def _stay(page: Path, report: str) -> None:
    """Open the page, and keep the server until the reader has seen enough."""
    click.echo(f"\nReport:            {report}\nBeside the truth:  {page.as_uri()}")
    click.echo("The server stays until you press Ctrl-C.")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
        webbrowser.open(page.as_uri())
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
