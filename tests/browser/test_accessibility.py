"""The check that pages' tests rely on notices a barrier."""

import pytest
from playwright.sync_api import Page

from tests.browser.accessibility import violations

pytestmark = pytest.mark.browser

BARRIERS = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Barriers</title></head><body><main>
<h1>Barriers</h1><input type="text" id="unlabelled"><p style="color: #aaa; background: #fff">Too pale</p>
</main></body></html>"""


def test_a_field_without_a_label_and_pale_text_are_noticed(page: Page) -> None:
    page.set_content(BARRIERS)
    assert {rule for rule, _ in violations(page)} == {"label", "color-contrast"}
