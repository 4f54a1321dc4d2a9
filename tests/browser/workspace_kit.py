"""The designer's workspace in a browser: accounts, signing in, drafts, and what every page is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from hushpoll_server.people import accounts
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import violations
from tests.browser.pictures import keep_picture
from tests.browser.waiting import resize
from tests.serving import LiveServer, running_server

ARTEFACTS = Path(__file__).parent.parent.parent / "artefacts" / "workspace"
PASSWORD = "correct horse battery"
QUESTION = {"id": "q1", "kind": "yes_no", "text": "Have you?", "mechanism": {"epsilon": "1"}}
PEOPLE = {"ines": "designer", "olu": "analyst", "root": "admin"}


@contextmanager
def workspace(folder: Path) -> Iterator[LiveServer]:
    """Serve a workspace with a designer, an analyst and an admin."""
    with running_server(folder, SEAL_EVERY="86400") as server:
        for name, role in PEOPLE.items():
            accounts.add_user(server.store, name, role, PASSWORD)
        yield server


@contextmanager
def signed_in_page(
    browser: Browser, server: LiveServer, name: str = "ines", width: int = 1280, scheme: str = "light"
) -> Iterator[Page]:
    """Open a page as a signed-in user; check at the end that it had no error."""
    with watched(browser, width, scheme) as page:
        sign_in(page, server, name)
        yield page


@contextmanager
def watched(browser: Browser, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """Open a page that collects errors; check at the end that there was none."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    faults = watch(page)
    yield page
    page.unroute_all(behavior="ignoreErrors")
    context.close()
    assert faults == []


def now(server: LiveServer, draft: Draft) -> Draft:
    """Return the draft as it is stored now."""
    current = storage.find(server.store, draft.id)
    assert current is not None
    return current


def watch(page: Page) -> list[str]:
    """Collect what the browser complains of: broken scripts, and anything the content policy stopped."""
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None
    )
    return faults


# Cookies of sessions, by server and account.
_sessions: WeakKeyDictionary[LiveServer, dict[str, list[Any]]] = WeakKeyDictionary()


def sign_in(page: Page, server: LiveServer, name: str) -> None:
    """Sign in: through the form the first time on a server, and after that with the cookies of that session."""
    sessions = _sessions.setdefault(server, {})
    page.context.add_cookies(sessions.get(name, []))
    page.goto(f"{server.url}/sign-in")
    if page.url.endswith("/sign-in"):
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: not url.endswith("/sign-in"))
        sessions[name] = page.context.cookies()
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()


def make_draft(store: Store, title: str, *questions: dict[str, object]) -> Draft:
    document = {**documents.blank(title), "intro": "Who asks, and why.", "questions": list(questions)}
    return storage.create(store, "ines", document)


def unfold(page: Page) -> None:
    """Open every fold of the page, also those within others."""
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")


_SIDEWAYS = "(tables) => tables.filter((table) => table.scrollWidth > table.clientWidth).length"


def check_fits(page: Page, width: int, name: str) -> None:
    """At this width neither the page nor a table in it is scrolled sideways."""
    resize(page, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} at {width}"
    assert page.locator(".table-responsive").evaluate_all(_SIDEWAYS) == 0, f"{name} at {width}"


def check_readable(page: Page, name: str, narrowest: int = 390) -> None:
    """Axe finds nothing on a page at a desk and on a phone in dark colours, and it fits both.

    The page is loaded once, at a desk in light colours, and stays so for the next one.
    """
    unfold(page)
    check_fits(page, 1280, name)
    axe(page)
    shoot(page, f"{name}-1280-light")
    page.emulate_media(color_scheme="dark")
    check_fits(page, 390, name)
    axe(page)
    shoot(page, f"{name}-390-dark")
    if narrowest < 390:
        check_fits(page, narrowest, name)
    page.emulate_media(color_scheme="light")
    resize(page, 1280)


def axe(page: Page) -> None:
    """No violation of WCAG 2.2 A and AA, nor of best practices."""
    assert violations(page) == []


def shoot(page: Page, name: str) -> None:
    keep_picture(page, ARTEFACTS / f"{name}.png")
