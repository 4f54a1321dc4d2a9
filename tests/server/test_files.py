"""The workspace's files: small on the wire, kept for ever under an address that names their content."""

from __future__ import annotations

import gzip
import re

import pytest
from flask.testing import FlaskClient
from hushpoll_server import files


def addresses(html: str) -> set[str]:
    """Every file that a page loads."""
    return set(re.findall(r'(?:src|href)="(/files/[^"]+)"', html))


@pytest.fixture
def page(client: FlaskClient) -> str:
    """The page on which people sign in."""
    return client.get("/sign-in").text


def test_pages_name_their_files_by_content(client: FlaskClient, page: str) -> None:
    paths = addresses(page)
    assert {address.rsplit("/", 1)[1] for address in paths} >= {
        "bootstrap.css",
        "palette.css",
        "workspace.css",
    }
    assert all(address.split("/")[2] == files.files().digest for address in paths)
    for address in paths:
        answer = client.get(address, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "max-age=31536000, immutable"
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.data) == client.get(address).data


def test_no_page_loads_a_file_otherwise(client: FlaskClient, page: str) -> None:
    loaded = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="([^"]+)"', page)
    assert loaded
    assert set(loaded) == addresses(page)


def test_a_changed_file_gets_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = files.Files()
    before = files.Files().digest
    monkeypatch.setitem(changed._files, "palette.css", files.File(b"", b"", "text/css"))
    assert changed.digest != before
    assert files.Files().digest == before


def test_an_old_address_is_not_cached(client: FlaskClient) -> None:
    answer = client.get("/files/0123456789abcdef/workspace/page.js")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("name", ["nothing.js", "../config.py", "workspace", "palette.css/x"])
def test_other_names_are_refused(client: FlaskClient, name: str) -> None:
    assert client.get(f"/files/{files.files().digest}/{name}").status_code == 404
