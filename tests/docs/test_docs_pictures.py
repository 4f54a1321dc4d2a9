"""The pictures of the docs show the pages as they are now; also checked by `make docs-check`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT

MANIFEST = ROOT / "docs" / "images" / "manifest.json"


@pytest.mark.browser
@pytest.mark.long
def test_the_pictures_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/tools/screenshots.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_every_picture_of_the_manifest_is_a_small_png() -> None:
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    assert {picture.stem for picture in pictures} == set(json.loads(MANIFEST.read_text("utf-8")))
    for picture in pictures:
        data = picture.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) < 300_000, f"{picture.name} is too large for a README"
