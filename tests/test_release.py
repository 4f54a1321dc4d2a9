"""`make release`: the same bytes from two clones of a commit, and everything that a release holds."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VENV = Path(sys.executable).parents[1]


def make_release(folder: Path, umask: int = 0o022) -> subprocess.CompletedProcess[str]:
    """Run `make release` there with the tools of this environment."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "SOURCE_DATE"))
    }
    # What it would install is installed, and must not be replaced by the clone.
    return subprocess.run(
        ["make", "release", f"VENV={VENV}", "-o", f"{VENV}/.run"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        umask=umask,
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The dist/ folders of two clones in different places, made with different masks."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.fail("a release is built from a git clone")
    folders = []
    for name, umask in (("here", 0o022), ("a longer place", 0o027)):
        folder = tmp_path_factory.mktemp(name.split()[0]) / name
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True, umask=umask)
        done = make_release(folder, umask)
        assert done.returncode == 0, done.stderr
        folders.append(folder / "dist")
    return folders


def test_two_machines_make_the_same_release(releases: list[Path]) -> None:
    sums = [(folder / "SHA256SUMS").read_text() for folder in releases]
    assert sums[0] == sums[1]
    for folder in releases:
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


def test_a_release_holds_everything_and_one_version(releases: list[Path]) -> None:
    dist = releases[0]
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    summed = {line.split("  ./", 1)[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    files = {str(path.relative_to(dist)) for path in dist.rglob("*") if path.is_file()}
    assert summed == files - {"SHA256SUMS"}
    assert {wheel.name, source.name, "constraints.txt", "hushpoll.cdx.json", "deploy/nginx.conf"} <= files
    version = wheel.name.split("-")[1]
    assert source.name == f"hushpoll-{version}.tar.gz"
    bill = json.loads((dist / "hushpoll.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == version
    assert all(component["licenses"] for component in bill["components"])
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert email.message_from_bytes(archive.read(name))["Version"] == version
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "pyproject.toml", "deploy/compose.yaml", "docs/operators.md", "LICENSE"} <= names
    assert not [name for name in names if re.match(r"(\.venv|data|dist)/", name)]


def test_a_tree_with_changes_is_no_release(releases: list[Path]) -> None:
    clone = releases[0].parent
    (clone / "README.md").write_text("changed", "utf-8")
    done = make_release(clone)
    assert done.returncode == 2
    assert "a release is a commit" in done.stderr
