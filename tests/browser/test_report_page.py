"""The report in a real browser: on a phone and on a desk, light, dark and printed, without script or barriers."""

from __future__ import annotations

import json
import re
import secrets
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_server.collect import closing
from hushpoll_server.people import accounts
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import violations
from tests.browser.pictures import keep_picture
from tests.browser.waiting import resize
from tests.client.documents import question
from tests.serving import LiveServer, bearer, sealed_records

pytestmark = pytest.mark.browser
ARTEFACTS = Path(__file__).parents[2] / "artefacts"
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Honesty at exams",
        "questions": [
            question("cheated"),
            question(
                "reason",
                text="What would be the main reason to cheat?",
                options=[
                    "Not enough time to learn",
                    "Fear of failing",
                    "Habit",
                    "I would not",
                    "Prefer not to say",
                ],
                mechanism={"name": "krr", "epsilon": 2},
            ),
            question("tax", text="Did you ever leave income out of a tax return?"),
        ],
    }
)
TRUTH = {"cheated": [0.7, 0.3], "reason": [0.3, 0.35, 0.05, 0.3, 0.0], "tax": [0.9, 0.1]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    """A live server with 2,000 reports of ada's survey; yield it and ada's password."""
    live = LiveServer(tmp_path_factory.mktemp("reports"))
    live.store.publish(SURVEY, "ada")
    password = accounts.add_user(live.store, "ada", "designer")
    live.start()
    columns = [codes.tolist() for _, codes in simulate_survey(SURVEY, 2000, TRUTH, seed=3)]
    lines = [
        json.dumps({"id": secrets.token_hex(16), "reports": row}) for row in np.array(columns).T.tolist()
    ]
    request = urllib.request.Request(
        f"{live.url}/api/surveys/{SURVEY.hash}/reports/batch",
        "\n".join(lines).encode(),
        {"Content-Type": "application/x-ndjson", **bearer(live.store)},
    )
    urllib.request.urlopen(request).close()
    closing.close(live.store, SURVEY.hash)
    yield live, password
    live.close()


@pytest.fixture(scope="module")
def cookies(browser: Browser, server: tuple[LiveServer, str]) -> list[dict[str, object]]:
    """Ada's session, signed in through the form."""
    live, password = server
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{live.url}/surveys/{SURVEY.hash}/report")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/surveys/{SURVEY.hash}/report")
    cookies = context.cookies()
    context.close()
    return [dict(cookie) for cookie in cookies]


def opened(browser: Browser, cookies: list[dict[str, object]], size: str, scheme: str = "light") -> Page:
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.add_cookies(cookies)
    page = context.new_page()
    seen: list[str] = []
    SEEN[id(page)] = seen  # whatever another page, which is gone, had under this number
    page.on("console", lambda message: seen.append(message.text) if message.type == "error" else None)
    return page


SEEN: dict[int, list[str]] = {}


def problems(page: Page) -> list[str]:
    """Errors that the browser wrote to its console: a refused style or script would stand there."""
    return SEEN[id(page)]


def check(page: Page, name: str) -> None:
    """No barrier, no sideways scrolling, no refused resource; and a picture for people to look at."""
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert problems(page) == []
    ARTEFACTS.mkdir(exist_ok=True)
    keep_picture(page, ARTEFACTS / f"report-{name}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_report_page(
    browser: Browser, server: tuple[LiveServer, str], cookies: list[dict[str, object]], size: str, scheme: str
) -> None:
    page = opened(browser, cookies, size, scheme)
    page.goto(f"{server[0].url}/surveys/{SURVEY.hash}/report?by=cheated")
    check(page, f"{size}-{scheme}")
    expected = report(SURVEY, [sealed_records(server[0].store, SURVEY.hash)])["cheated"].shares[0]
    first = page.locator(".report-card .forest").first
    assert f"{100 * expected.shown_estimate:.1f} %" in first.inner_text()
    # The dot stands where the estimate is, between the axis' ends.
    dot, axis = first.locator("circle").bounding_box(), first.locator(".forest-row svg").first.bounding_box()
    assert dot is not None
    assert axis is not None
    position = (dot["x"] + dot["width"] / 2 - axis["x"]) / axis["width"]
    assert position == pytest.approx(expected.shown_estimate / 0.4, abs=0.02)
    page.context.close()


def test_a_verdict_looks_the_same_in_the_workspace_and_in_public(
    browser: Browser, server: tuple[LiveServer, str], cookies: list[dict[str, object]]
) -> None:
    """The workspace's style must not colour what the report says: a margin that was reached stood there in red."""
    page = opened(browser, cookies, "desk")
    page.goto(f"{server[0].url}/surveys/{SURVEY.hash}/report")
    seen = page.evaluate("""() => ["met", "short"].map((state) => {
      const line = document.createElement("p");
      line.className = `verdict ${state}`;
      document.querySelector(".findings li").append(line);
      const [own, finding] = [line, document.querySelector(".finding")].map((one) => getComputedStyle(one));
      return [own.color === finding.color, own.fontWeight === finding.fontWeight, own.borderInlineStartColor];
    })""")
    assert [styles[:2] for styles in seen] == [[True, True]] * 2
    assert seen[0][2] != seen[1][2]
    page.context.close()


@pytest.mark.parametrize("size", SIZES)
def test_two_questions_by_the_form(
    browser: Browser, server: tuple[LiveServer, str], cookies: list[dict[str, object]], size: str
) -> None:
    page = opened(browser, cookies, size)
    page.goto(f"{server[0].url}/surveys/{SURVEY.hash}/report")
    page.get_by_label("Describe").select_option("reason")
    page.get_by_label("By", exact=True).select_option("cheated")
    page.get_by_role("button", name="Cross-table and comparison").click()
    page.wait_for_url("**/report/table?**")
    expect(page.get_by_text("Pearson χ²")).to_have_count(1)
    page.get_by_label("Compare with").select_option("Yes")
    page.get_by_label("Confidence level").select_option("90")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**reference=Yes**")
    expect(page.get_by_role("columnheader", name="90 % interval")).to_have_count(1)
    check(page, f"table-{size}")
    page.context.close()


@pytest.mark.parametrize("size", SIZES)
def test_published_results_are_public(
    browser: Browser, server: tuple[LiveServer, str], cookies: list[dict[str, object]], size: str
) -> None:
    page = opened(browser, cookies, size)
    page.goto(f"{server[0].url}/surveys/{SURVEY.hash}/report")
    with page.expect_navigation():
        page.get_by_role("button", name="Publish the results").click()
    visitor = opened(browser, [], size)
    visitor.goto(f"{server[0].url}/results/{SURVEY.hash}")
    assert visitor.context.cookies() == []
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Honesty at exams")
    check(visitor, f"public-{size}")
    visitor.get_by_role("link", name="العربية").click()
    expect(visitor.locator("html")).to_have_attribute("dir", "rtl")
    expect(visitor.get_by_role("heading", name="ما الذي ظهر")).to_be_visible()
    check(visitor, f"public-arabic-{size}")
    with visitor.expect_download() as saved:
        visitor.get_by_role("link", name="صورة (SVG)").first.click()
    assert "<svg" in saved.value.path().read_text("utf-8")
    server[0].store.set_results_public(SURVEY.hash, False)
    assert visitor.reload().status == 404  # type: ignore[union-attr]
    for opened_page in (page, visitor):
        opened_page.context.close()


def test_the_standalone_file(browser: Browser, server: tuple[LiveServer, str], tmp_path: Path) -> None:
    grouped = report(SURVEY, [sealed_records(server[0].store, SURVEY.hash)], by="cheated")
    (tmp_path / "report.html").write_text(grouped.to_html(), encoding="utf-8")
    for size in SIZES:
        page = opened(browser, [], size)
        requests: list[str] = []
        page.on("request", lambda request, requests=requests: requests.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        check(page, f"file-{size}")
        assert len(requests) == 1
        if size == "desk":
            # A4 within its margins is about 700 of the browser's pixels wide.
            page.emulate_media(media="print")
            resize(page, 700, 1000)
            assert page.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )
            alone = report(SURVEY, [sealed_records(server[0].store, SURVEY.hash)], needed=0.05)
            page.set_content(alone.to_html())
            printed = page.pdf(path=ARTEFACTS / "report-file.pdf", format="A4", print_background=True)
            assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
        page.context.close()
