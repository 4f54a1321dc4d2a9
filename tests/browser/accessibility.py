"""What axe finds on a page: violations of WCAG 2.2 A and AA, and of its best practices."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.waiting import settled

# axe describes every element that passes, too, unless it is told not to, which takes five times as long. Frames hold
# other pages, with tests of their own.
_RUN = """async () => {
  const options = { iframes: false, preload: false, resultTypes: ["violations"] };
  const { violations } = await axe.run(document, options);
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}"""


def violations(page: Page) -> list[list[object]]:
    """Return the name of each rule that the page breaks, with the elements that break it."""
    settled(page)
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE_SCRIPT)
    violations: list[list[object]] = page.evaluate(_RUN)
    return violations
