"""Pictures of pages for people to look at: `make test PICTURES=1` writes them to artefacts/."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page


def keep_picture(page: Page, path: Path | str) -> None:
    """Write a picture of the whole page where PICTURES is set; no test compares it with anything."""
    if os.environ.get("PICTURES"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path, full_page=True)
