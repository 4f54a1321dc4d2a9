"""What a test waits for on a machine that is slow: every helper here took the place of a line that hoped."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests import serving

# Milliseconds that a page has for anything: what it comes to show is tested, not how soon.
LONGEST = 1000 * serving.LONGEST
SAVED = "All changes are saved."
# Timers of so many milliseconds and more never end, nor does anything that is given so long.
_PATIENT = """{
  const [wait, limit, least] = [globalThis.setTimeout, AbortSignal.timeout, %d];
  globalThis.setTimeout = (work, ms, ...more) => wait(work, ms >= least ? 2 ** 31 - 1 : ms, ...more);
  AbortSignal.timeout = (ms) => limit.call(AbortSignal, ms >= least ? 2 ** 31 - 1 : ms);
}"""


def until(page: Page, happened: Callable[[], object]) -> None:
    """Let the page go on until something has happened on this side of it."""
    end = time.monotonic() + serving.LONGEST
    while not happened():
        assert time.monotonic() < end, "it never happened"
        page.wait_for_timeout(20)


def patient(page: Page, least: int = 5_000) -> None:
    """Disable timers of the page that last at least this many milliseconds, so that only the test acts.

    By default those of the respondent's page: the next attempt after five seconds, and the limit for checking a code.
    """
    page.add_init_script(_PATIENT % least)


def settled(page: Page) -> None:
    """Wait until a page is loaded and no colour is on its way to another, as axe and pictures want it."""
    page.wait_for_load_state()
    page.evaluate("() => Promise.allSettled(document.getAnimations().map((one) => one.finished))")


def saved(page: Page, state: str = SAVED) -> None:
    """Wait until all that was typed into a draft is kept; the script that says so may have to come first."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('form[data-autosave]')].every((form) => form.elements.opened.value)"
    )
    expect(page.locator("[data-saved-state]")).to_have_text(state)


def resize(page: Page, width: int, height: int = 900) -> None:
    """Resize the page, and wait until it has that size."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("(width) => innerWidth === width", arg=width)


def width_of(image: Locator) -> int:
    """The width of a picture itself, once it has come."""
    width: int = image.evaluate("async (one) => { await one.decode(); return one.naturalWidth; }")
    return width
