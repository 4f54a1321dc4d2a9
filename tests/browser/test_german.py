"""The workspace in German: from signing in to a published survey, accessible, and nowhere too wide."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.waiting import resize, saved
from tests.browser.workspace_kit import (
    PASSWORD,
    axe,
    check_fits,
    make_draft,
    shoot,
    unfold,
    watched,
    workspace,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser

QUESTIONS: list[dict[str, object]] = [
    {"id": "q1", "kind": "yes_no", "text": "Haben Sie das getan?", "mechanism": {"epsilon": "1"}},
    {
        "id": "q2",
        "kind": "choice",
        "text": "Was trifft zu?",
        "options": ["Das eine", "Das andere", "Etwas drittes"],
        "mechanism": {"epsilon": "1"},
    },
    {
        "id": "q3",
        "kind": "scale",
        "text": "Wie sehr?",
        "points": 5,
        "mechanism": {"epsilon": "1", "target": "cumulative"},
    },
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A workspace with people and a draft."""
    with workspace(tmp_path_factory.mktemp("german")) as live:
        yield live


def enter(page: Page, server: LiveServer, name: str = "ines") -> None:
    """Choose German at the foot of the sign-in page, and sign in."""
    page.goto(f"{server.url}/sign-in")
    page.get_by_role("link", name="Deutsch").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Passwort", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_role("heading", name="Umfragen", exact=True)).to_be_visible()


def test_from_signing_in_to_a_published_survey(browser: Browser, server: LiveServer) -> None:
    with watched(browser) as page:
        enter(page, server)
        page.get_by_role("link", name="Neue Umfrage").click()
        page.get_by_role("button", name="Leere Umfrage").click()
        page.get_by_label("Titel", exact=True).fill("Pünktlichkeit")
        page.get_by_role("textbox", name="Einleitung").fill("Wir möchten es wissen.")
        saved(page, "Alle Änderungen sind gespeichert.")
        page.get_by_role("button", name="Ja oder Nein").click()
        page.get_by_label("Frage", exact=True).fill("Waren Sie zu spät?")
        page.get_by_role("button", name="Die Frage hinzufügen").click()
        page.get_by_role("link", name="Weiter: Schutz und Genauigkeit").click()
        expect(page.get_by_role("slider")).to_be_visible()
        page.get_by_label("Welche Fehlerspanne brauchen Sie?").fill("4,5")
        expect(page.locator("[data-readout=sentence]")).to_contain_text("Etwa 500 Personen, ±4,5 Punkte")
        page.get_by_label("Grad des Schutzes").press("Home")
        expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "Epsilon 0,25")
        page.get_by_role("link", name="Weiter: Vorschau").click()
        frame = page.frame_locator("iframe")
        expect(frame.get_by_role("button", name="Beginnen")).to_be_visible()
        page.get_by_role("link", name="Weiter: Probelauf des Berichts").click()
        expect(page.get_by_role("columnheader", name="Wahrheit")).to_be_visible()
        page.get_by_role("link", name="Weiter: veröffentlichen").click()
        page.get_by_label("Mir ist klar, dass eine veröffentlichte Umfrage nicht geändert").check()
        page.get_by_role("button", name="Endgültig veröffentlichen").click()
        expect(page.get_by_text("Veröffentlicht. Unten steht der Link zum Verteilen.")).to_be_visible()
        assert "#" in page.get_by_label("Der Link", exact=True).input_value()
        page.get_by_role("link", name="Bericht öffnen").click()
        expect(page.get_by_role("heading", name="Pünktlichkeit")).to_be_visible()


def check_pages(page: Page, name: str, addresses: list[str]) -> None:
    """Every page fits a desk and a phone, and axe finds nothing on a phone."""
    for number, address in enumerate(addresses):
        resize(page, 1280)
        page.goto(address)
        unfold(page)
        for width in (1280, 390):
            check_fits(page, width, address)
            shoot(page, f"german-{name}-{width}-{number}")
        axe(page)


def test_the_main_pages_are_readable_and_nowhere_too_wide(browser: Browser, server: LiveServer) -> None:
    draft = make_draft(server.store, "Eine Umfrage", *QUESTIONS)
    at = f"/drafts/{draft.id}"
    pages = [
        "/surveys",
        "/surveys/new",
        at,
        f"{at}/questions/q2",
        f"{at}/privacy",
        f"{at}/phone",
        f"{at}/rehearsal",
    ]
    pages += [
        f"{at}/publish",
        f"{at}/presentation",
        f"{at}/languages",
        f"{at}/paper",
        "/account",
        "/account/tokens",
    ]
    with watched(browser) as page:
        enter(page, server)
        check_pages(page, "main", [server.url + path for path in pages])


def test_the_admins_pages_and_a_published_survey_too(browser: Browser, server: LiveServer) -> None:
    with watched(browser) as page:
        enter(page, server, "root")
        page.get_by_role("link", name="Neue Umfrage").click()
        page.get_by_role("button", name="Diese Vorlage benutzen").nth(1).click()
        page.get_by_role("link", name="Veröffentlichen").click()
        page.get_by_label("Mir ist klar").check()
        page.get_by_role("button", name="Endgültig veröffentlichen").click()
        page.wait_for_url(re.compile("/surveys/[0-9a-f]{64}$"))
        survey = page.url
        check_pages(
            page, "admin", [survey, f"{survey}/report", f"{server.url}/accounts", f"{server.url}/audit-log"]
        )
