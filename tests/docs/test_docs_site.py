"""The site builds strictly, its links and anchors lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import hushpoll_analysis
import pytest

from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; every warning is an error. Zensical writes next to its configuration, so it builds a copy."""
    folder = tmp_path_factory.mktemp("site")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    settings = settings.replace(
        "paths: [client, analysis]", f"paths: [{ROOT / 'client'}, {ROOT / 'analysis'}]"
    )
    (folder / "mkdocs.yml").write_text(settings, "utf-8")
    shutil.copytree(ROOT / "docs", folder / "docs")
    done = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


class Links(HTMLParser):
    """Collects the ids of a page, its links, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if attributes.get("id"):
            self.ids.add(attributes["id"] or "")
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"] or "")
        if tag in ("script", "img", "iframe") and attributes.get("src"):
            self.loads.append(attributes["src"] or "")
        if tag == "link" and attributes.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(attributes.get("href") or "")


def test_links_and_anchors_exist(site: Path) -> None:
    pages = {path: Links(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) >= 10
    for page, links in pages.items():
        for link in links.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{page.relative_to(site)}: {link} leads nowhere"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{page.relative_to(site)}: no {link}"


def test_the_reference_has_every_public_name(site: Path) -> None:
    ids = {name for page in (site / "api").rglob("index.html") for name in Links(page).ids}
    public = {f"hushpoll_analysis.{name}" for name in hushpoll_analysis.__all__}
    assert public <= ids, sorted(public - ids)
    study = [name for name in vars(hushpoll_analysis.Study) if not name.startswith("_")]
    assert {f"hushpoll_analysis.Study.{name}" for name in study} <= ids


def test_formulas_are_set_as_formulas(site: Path) -> None:
    page = (site / "estimates" / "index.html").read_text("utf-8")
    assert page.count("<math") > 10
    assert "$$" not in page
    for path in site.rglob("*.html"):
        assert ":math:" not in path.read_text("utf-8"), path.name


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for load in Links(page).loads:
            parts = urlsplit(load)
            assert not parts.netloc, f"{page.name} loads {load}"
            if page.name != "404.html":
                assert (page.parent / unquote(parts.path)).exists(), f"{page} misses {load}"
    for sheet in site.rglob("*.css"):
        outside = re.findall(r"url\(\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))
        assert not outside, f"{sheet.name} loads from elsewhere"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_relative_links_of_the_front_pages(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and parts.path:
            assert (ROOT / parts.path).exists(), f"{name}: {link} leads nowhere"
            if parts.fragment and parts.path.endswith(".md"):
                headings = re.findall(r"^#+ (.+)$", (ROOT / parts.path).read_text("utf-8"), re.M)
                slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}
                assert parts.fragment in slugs, f"{name}: no heading for {link}"
