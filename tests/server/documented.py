"""The statuses that openapi.yaml describes for a request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hushpoll_server
import yaml
from hushpoll_server.problems import HEALTH

DOCUMENT: dict[str, Any] = yaml.safe_load(
    (Path(hushpoll_server.__file__).parent / "collect" / "openapi.yaml").read_text("utf-8")
)
# Fixed paths before those with a parameter in the same position.
_PATHS = sorted(DOCUMENT["paths"], key=lambda path: path.count("{"))
# Any request may fail in the program itself, or be no HTTP that can be read.
EVERYWHERE = {"400", "500"}


def is_of_the_api(path: str) -> bool:
    return path.startswith(("/api/", *HEALTH))


def operation(method: str, path: str) -> dict[str, Any] | None:
    """Return the described answers of a request by status, or None if the request is not described."""
    for template in _PATHS:
        pattern = re.escape(template).replace(r"\{hash\}", "[^/]+").replace(r"\{code\}", "[^/]+")
        if re.fullmatch(pattern, path):
            responses: dict[str, Any] = DOCUMENT["paths"][template].get(method.lower(), {}).get("responses")
            return responses
    return None


def undescribed(method: str, path: str, status: int) -> bool:
    """Return whether the API answered a described request with a status that its description lacks."""
    path = path.partition("?")[0]
    if method == "HEAD":
        method = "GET"
    responses = operation(method, path) if is_of_the_api(path) else None
    return responses is not None and str(status) not in {*responses, *EVERYWHERE}
