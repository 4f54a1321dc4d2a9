"""Downloads, and addresses as respondents use them."""

from __future__ import annotations

import io
import json
from typing import Any

from flask import current_app, request, send_file
from werkzeug.wrappers import Response as BaseResponse

Page = str | BaseResponse | tuple[str, int]


def json_text(document: dict[str, Any]) -> bytes:
    """Return a document as indented JSON."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def address() -> str:
    """Return the address of this server as respondents should use it."""
    config = current_app.config["HUSHPOLL"]
    return str(config.public_url).rstrip("/") or request.host_url.rstrip("/")


def public_url(path: str) -> str:
    """Return the whole address of a path that `url_for` gave: the prefix of PUBLIC_URL is in it already."""
    return address().removesuffix(current_app.config["HUSHPOLL"].prefix) + path


def download(data: bytes, mimetype: str, name: str) -> BaseResponse:
    """Send a file for the designer's disk."""
    return send_file(io.BytesIO(data), mimetype, as_attachment=True, download_name=name)
