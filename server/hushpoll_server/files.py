"""The files of all pages but the respondent's: compressed once, under an address that names their content.

The address holds a digest of all files together, so that one file may name another by its place, and browsers keep
them for ever. An address of another release is answered with the file of this one, asked about again at each load.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import flask_bootstrap
from flask import Flask, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from .compression import compressible
from .problems import Problem

_STATIC = Path(__file__).parent / "static"
_BOOTSTRAP = Path(flask_bootstrap.__file__).parent / "static" / "bootstrap5" / "css" / "bootstrap.min.css"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOR_EVER = "max-age=31536000, immutable"


class File(NamedTuple):
    """A file in memory, as it is and compressed."""

    body: bytes
    compressed: bytes
    content_type: str


class Files:
    """Every file by its name, such as workspace/page.js, with the digest of all."""

    def __init__(self) -> None:
        paths = {str(path.relative_to(_STATIC)): path for path in _STATIC.rglob("*") if path.suffix in _TYPES}
        paths["bootstrap.css"] = _BOOTSTRAP
        paths["report.css"] = _report_style()
        self._files = {name: _read(path) for name, path in sorted(paths.items())}

    @cached_property
    def digest(self) -> str:
        """Sixteen digits that change when any file does."""
        digest = hashlib.sha256()
        for name, file in self._files.items():
            digest.update(name.encode() + b"\0" + hashlib.sha256(file.body).digest())
        return digest.hexdigest()[:16]

    def get(self, name: str) -> File:
        """Return a file, or say that there is none."""
        if name not in self._files:
            raise Problem(404, "there is no such file; check the address")
        return self._files[name]


def _report_style() -> Path:
    """Find the style sheet of results in the analysis package without importing it: a collecting worker must not."""
    package = find_spec("hushpoll_analysis")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "results" / "templates" / "report.css"


def _read(path: Path) -> File:
    body = path.read_bytes()
    return File(body, gzip.compress(body, 9, mtime=0), _TYPES[path.suffix])


@cache
def files() -> Files:
    """Read the files once in a process."""
    return Files()


def init_app(app: Flask) -> None:
    """Serve the files, and let templates name them: `file_url('workspace/page.js')`."""
    app.add_url_rule("/files/<digest>/<path:name>", "files", serve)
    app.jinja_env.globals["file_url"] = file_url


def file_url(name: str) -> str:
    """Return the address of a file, with the digest of this release."""
    files().get(name)
    return url_for("files", digest=files().digest, name=name)


def serve(digest: str, name: str) -> BaseResponse:
    """Send a file: for ever under the digest of this release, to be asked about again under any other."""
    file = files().get(name)
    response = compressible(file.body, file.content_type, file.compressed)
    response.headers["Cache-Control"] = FOR_EVER if digest == files().digest else "no-cache"
    return response.make_conditional(request)
