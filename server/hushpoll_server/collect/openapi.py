"""The API, described for machines (OpenAPI 3.1): openapi.yaml as JSON."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import hushpoll_client

_DOCUMENT = Path(__file__).with_name("openapi.yaml")


@cache
def openapi() -> bytes:
    """Return the description with the version of this program."""
    import yaml

    document = yaml.safe_load(_DOCUMENT.read_text("utf-8"))
    document["info"]["version"] = hushpoll_client.__version__
    return json.dumps(document).encode()
