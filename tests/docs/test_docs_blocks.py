"""Every Python block and every command of the pages runs, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, SHOWN_PORT, PageRunner, read_blocks
from tests.docs.conftest import RunningServer

RUN = {"python", "pycon", "console", "sh"}
# Languages of blocks that are shown, not run; a console block in disguise would slip through an unknown one.
SHOWN = {"diff", "json", "text", "nginx", "ini", "toml", "html", "bibtex", "http", "javascript"}


MOST_COLUMNS = 84  # a longer line runs out of its box on the site
# How lines begin that readers copy; what programs print is as wide as they print it.
COPIED: dict[str, tuple[str, ...]] = {
    "python": ("",),
    "pycon": (">>> ", "... "),
    "json": ("",),
    "console": ("$ ", "> "),
}


def talks_to_server(page: Path) -> bool:
    """Whether a page's blocks need a server: they name its address or work on its store."""
    return any(
        "127.0.0.1:8000" in block.text or "hushpoll survey publish" in block.text
        for block in read_blocks(page)
        if block.language in ("console", "pycon", "python")
    )


def runner(folder: Path, environment: dict[str, str], address: str = SHOWN_PORT) -> PageRunner:
    """A runner in a folder that looks like the root of a clone, with its own state folder."""
    (folder / "tests").symlink_to(ROOT / "tests")
    return PageRunner(folder, {**environment, "XDG_STATE_HOME": str(folder / "state")}, address)


OFFLINE = [page for page in PAGES if not talks_to_server(page)]
ONLINE = [page for page in PAGES if talks_to_server(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_names_its_language(page: Path) -> None:
    for block in read_blocks(page):
        assert block.language in RUN | SHOWN, f"{block.place}: name the block's language"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_what_readers_copy_fits_its_box(page: Path) -> None:
    for block in read_blocks(page):
        starts = COPIED.get(block.language, ())
        for number, line in enumerate(block.text.splitlines(), block.line + 1):
            if line.startswith(starts):
                assert len(line) <= MOST_COLUMNS, f"{page.name}:{number}: {len(line)} columns"


@pytest.mark.parametrize("page", OFFLINE, ids=lambda page: page.name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    reader = runner(tmp_path, {"DATA": str(tmp_path / "data")})
    for block in read_blocks(page):
        reader.run(block)


@pytest.mark.parametrize("page", ONLINE, ids=lambda page: page.name)
def test_blocks_run_with_a_server(page: Path, tmp_path: Path, server: RunningServer) -> None:
    reader = runner(tmp_path, server.environment, server.address)
    for block in read_blocks(page):
        reader.run(block)
