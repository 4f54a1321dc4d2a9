"""Take the pictures of the docs from the running program: `python docs/tools/screenshots.py [--check]`.

A server starts with an empty folder; the demo survey's bounded questions are published; a draft is made of the first
template; seeded reports go in through the batch API. The survey is closed before its results are taken, because until
then a random part of the reports waits and the figures would differ from one run to the next. Pixels differ between
machines, so `--check` compares what the pages consist of: their elements and words, digits masked, as noted in
docs/images/manifest.json when they were taken.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import re
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from hushpoll_analysis import simulate
from hushpoll_client import Report, Survey
from hushpoll_server.cli.demo import own_server
from hushpoll_server.collect.closing import close
from hushpoll_server.config import Config
from hushpoll_server.people import accounts, tokens
from hushpoll_server.serve import demo_study
from hushpoll_server.serve.demo import DRAFT
from hushpoll_server.store.surveys import open_store
from PIL import Image
from playwright.sync_api import Browser, Page, StorageState, sync_playwright

FOLDER = Path(__file__).parents[1] / "images"
MANIFEST = FOLDER / "manifest.json"
REPORTS = 1500
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
OUTLINE = """(selector) => {
  const lines = [];
  const walk = (node, depth) => {
    for (const child of node.children) {
      if (["SCRIPT", "STYLE", "LINK", "META", "NOSCRIPT"].includes(child.tagName)) continue;
      const own = [...child.childNodes].filter((one) => one.nodeType === 3).map((one) => one.textContent.trim());
      lines.push(`${depth} ${child.tagName} ${own.filter(Boolean).join(" ")}`);
      walk(child, depth + 1);
    }
  };
  walk(document.querySelector(selector), 0);
  return lines.join("\\n");
}"""


@dataclass(frozen=True)
class Picture:
    """One picture: its name, the page's address after the host, the size of the window, the heading at its top, and
    the part that `--check` compares.
    """

    name: str
    path: str
    width: int = 1000
    height: int = 760
    sharpness: int = 1
    scroll_to: str | None = None
    compared: str = "body"


SIGN_IN = "/sign-in"
PASSWORD = "pictures of the docs"


def while_open(survey: Survey) -> list[Picture]:
    """What is taken of an open survey: the respondent's page, on a phone and on a desk."""
    respond = f"/s/{survey.hash}#{survey.hash}"
    return [
        Picture("respond-390", respond, 390, 1060, 2),
        Picture("respond-1280", respond, 1280, 900),
    ]


def workspace(survey: Survey, draft: str) -> list[Picture]:
    """What is taken of the workspace, for an account: the steps from a new survey to a published one."""
    return [
        Picture("workspace-new", "/surveys/new"),
        Picture("workspace-questions", draft, scroll_to="Questions"),
        Picture("workspace-privacy", f"{draft}/privacy"),
        # Its results are drawn anew each time.
        Picture("workspace-rehearsal", f"{draft}/rehearsal", compared="main form:has(label)"),
        Picture("workspace-publish", f"{draft}/publish"),
        # How much is sealed when the picture is taken differs each time.
        Picture("workspace-survey", f"/surveys/{survey.hash}", compared="#share"),
    ]


def sign_in(browser: Browser, address: str) -> StorageState:
    """Sign in and return the cookies of the session."""
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.goto(address + SIGN_IN)
    page.get_by_label("Name").fill("pictures")
    page.get_by_label("Password").first.fill(PASSWORD)
    page.locator("main button[type=submit], main button.btn-primary").first.click()
    page.wait_for_url("**/surveys*")
    state = context.storage_state()
    context.close()
    return state


def make_draft(browser: Browser, address: str, state: StorageState) -> str:
    """Make a draft of the first template and return the path of its page."""
    context = browser.new_context(locale="en-GB", storage_state=state)
    page = context.new_page()
    page.goto(f"{address}/surveys/new")
    page.get_by_role("button", name="Use this template").first.click()
    page.wait_for_url("**/drafts/*")
    path = urlsplit(page.url).path
    context.close()
    return path


def when_closed(survey: Survey) -> list[Picture]:
    """What is taken of a closed one: the public report, of every report that was sent."""
    results = f"/results/{survey.hash}"
    return [
        Picture("report-390", results, 390, 1060, 2),
        Picture("report-1280", results, 1280, 1100),
    ]


def publish(folder: Path) -> tuple[Survey, str]:
    """Publish the two questions of the demo survey whose epsilon is finite; gives a token to send reports by, too."""
    questions = [question for question in DRAFT["questions"] if question["id"] != "copied"]
    intro = "Two questions that people would rather not answer in the open."
    survey = Survey.from_draft({**DRAFT, "intro": intro, "questions": questions})
    store = open_store(Config(data=folder / "data"))
    accounts.add_user(store, "pictures", "designer", PASSWORD)
    store.publish(survey, "pictures", results_live=True, target_n=2000)
    token = tokens.make(store, "pictures", "reports", ["batch"], actor="pictures")
    store.close()
    return survey, token


def fill(address: str, survey: Survey, token: str) -> None:
    """Send the same seeded reports each time, so that the numbers in the pictures stay."""
    people = demo_study.respondents(REPORTS)
    columns = []
    for place, question in enumerate(survey.questions):
        options = [demo_study.true_share(people, question.id, option) for option in question.options]
        edges = np.round(np.cumsum([0, *options]) * REPORTS).astype(int)
        answers = np.repeat(np.arange(len(options)), np.diff(edges))
        columns.append(simulate(question.mechanism.analysis, answers, seed=np.random.default_rng(place)))
    lines = [
        Report(f"{number:032x}", tuple(int(column[number]) for column in columns)).to_bytes()
        for number in range(REPORTS)
    ]
    request = urllib.request.Request(
        f"{address}/api/surveys/{survey.hash}/reports/batch",
        b"\n".join(lines),
        {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 201


def outline(page: Page, selector: str) -> str:
    """The elements and words of a part of the page; digits, months and hashes do not count."""
    text: str = page.evaluate(OUTLINE, selector)
    months = "|".join(calendar.month_name[1:])
    return re.sub(rf"[0-9a-f]{{12,}}|[0-9][0-9.,  ]*|\b({months})\b", "#", text)


def visit(
    browser: Browser, address: str, pictures: list[Picture], take: bool, state: StorageState | None = None
) -> Iterator[tuple[str, str]]:
    """Open each page; give each picture's name and the digest of what the page consists of."""
    seen: dict[str, str] = {}
    for picture in pictures:
        if not take and picture.path in seen:  # what a page consists of does not depend on its width
            yield picture.name, seen[picture.path]
            continue
        context = browser.new_context(
            viewport={"width": picture.width, "height": picture.height},
            device_scale_factor=picture.sharpness,
            color_scheme="light",
            locale="en-GB",
            reduced_motion="reduce",
            storage_state=state,
        )
        page = context.new_page()
        page.goto(address + picture.path, wait_until="networkidle")
        page.wait_for_selector("main h1, main h2, h1")
        seen[picture.path] = hashlib.sha256(outline(page, picture.compared).encode()).hexdigest()
        yield picture.name, seen[picture.path]
        if take:
            if picture.scroll_to:
                heading = page.get_by_role("heading", name=picture.scroll_to, exact=True)
                heading.evaluate("heading => heading.scrollIntoView()")
            path = FOLDER / f"{picture.name}.png"
            page.screenshot(path=path)
            # A page of text has few colours: a third of the size, and nothing to be seen of it.
            Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
        context.close()


def main() -> None:
    """Take the pictures, or say which of them are out of date."""
    check = "--check" in sys.argv
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on PATH; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as temporary, own_server(Path(temporary), 0) as address:
        survey, token = publish(Path(temporary))
        fill(address, survey, token)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            found = dict(visit(browser, address, while_open(survey), take=not check))
            state = sign_in(browser, address)
            steps = workspace(survey, make_draft(browser, address, state))
            found |= visit(browser, address, steps, not check, state)
            with closing(open_store(Config(data=Path(temporary) / "data"))) as store:
                close(store, survey.hash)
            found |= visit(browser, address, when_closed(survey), take=not check)
            browser.close()
    if not check:
        MANIFEST.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
        return
    known = json.loads(MANIFEST.read_text("utf-8")) if MANIFEST.exists() else {}
    stale = [
        name for name in found if known.get(name) != found[name] or not (FOLDER / f"{name}.png").exists()
    ]
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run: python docs/tools/screenshots.py")


if __name__ == "__main__":
    main()
