"""From a link to a delivered report: fetch and check the survey, send what was drawn until it has arrived."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from hushpoll_client.errors import SubmitError
from hushpoll_client.limits import CAP, MAX_BYTES
from hushpoll_client.survey import Survey

from .deadline import within
from .link import LOOPBACK, Link
from .report import Report

__all__ = ["check_invitation", "fetch_survey", "submit"]

TIMEOUT = 30.0
CODE_LENGTH = 20

_KEPT = "the mixed report is kept on this machine; run the same command again to send it as it is"
_REFUSED = {
    403: (
        "the survey needs an invitation that is not spent",
        f"use the link from your invitation ({_KEPT})",
    ),
    404: ("this server does not know the survey", f"check the link ({_KEPT})"),
    409: ("this server holds another report under the same id", "nothing was changed there"),
    410: ("the survey is closed", "the report was not stored"),
}


def fetch_survey(link: Link, cap: str = CAP, timeout: float = TIMEOUT) -> Survey:
    """Get the survey and verify it: hash, channels, and the total epsilon against this client's own cap."""
    try:
        data = within(timeout, lambda: _get(link.document_url, timeout))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 404:
            raise SubmitError("there is no survey at this address", "check the link") from None
        raise SubmitError(
            f"the survey could not be loaded (status {error.code})", "try again later"
        ) from None
    except (OSError, HTTPException) as error:
        raise SubmitError(
            f"{link.server} does not answer ({_reason(error)})", "check the connection"
        ) from None
    return Survey.from_published(data, expected_hash=link.hash, cap=cap)


def _get(url: str, timeout: float) -> bytes:
    with _open(urllib.request.Request(url), timeout) as response:  # noqa: S310 - http(s) only
        data: bytes = response.read(MAX_BYTES + 1)
    return data


def check_invitation(link: Link, survey: Survey, timeout: float = TIMEOUT) -> None:
    """Raise SubmitError if an invitation is unknown or spent; if the server does not answer, sending finds out."""
    if not survey.settings.invitation or link.invitation is None:
        return
    value: dict[str, Any] = {"invitation": link.invitation}
    if link.group is not None:
        value["group"] = link.group
    status, _, _ = _attempt(f"{link.document_url}/invitations/check", json.dumps(value).encode(), timeout)
    if status == 403 and len(link.invitation) < CODE_LENGTH:
        raise SubmitError(
            "this link is incomplete: its invitation code is too short",
            "copy the whole link; no report was sent",
        )
    if status == 403:
        raise SubmitError(
            "this invitation is unknown here, or it has been used",
            "ask whoever sent it; no report was sent",
        )


def submit(
    link: Link,
    survey: Survey,
    report: Report,
    *,
    attempts: int = 3,
    timeout: float = TIMEOUT,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Send a report until it has arrived: 201 when it is new, 200 when the server had it already.

    The same bytes each time, so that an attempt whose answer was lost does no harm.
    """
    body = report.to_body(survey, link.invitation if survey.settings.invitation else None)
    for left in reversed(range(attempts)):
        status, wait, problem = _attempt(link.reports_url, body, timeout)
        if status in (200, 201):
            return status
        if status in _REFUSED:
            raise SubmitError(*_REFUSED[status])
        if 400 <= status < 500 and status != 429:
            raise SubmitError(f"the server refused the report: {problem} ({_KEPT})")
        if left:
            sleep(min(wait, 10.0))
    raise SubmitError(problem, _KEPT)


def _attempt(url: str, body: bytes, timeout: float) -> tuple[int, float, str]:
    """Make one attempt; return the status (0 without an answer), how long to wait, and what was wrong."""
    try:
        return within(timeout, lambda: _post(url, body, timeout))
    except TimeoutError as error:
        return 0, 1.0, f"the server does not answer ({error})"


def _post(url: str, body: bytes, timeout: float) -> tuple[int, float, str]:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})  # noqa: S310
    try:
        with _open(request, timeout) as response:
            if response.headers.get_content_type() == "text/html" and "Content-Type" in response.headers:
                # The sign-in page of a hotel's network also says 200.
                return 0, 1.0, "a page came back instead of the server's answer; sign in to the network first"
            return int(response.status), 0.0, ""
    except urllib.error.HTTPError as error:
        with error:
            after = error.headers.get("Retry-After", "")
            wait = 1.0
            if after.isascii() and after.isdigit():
                wait = float(after)
            return error.code, wait, _detail(error)
    except (OSError, HTTPException) as error:
        return 0, 1.0, f"the server does not answer ({_reason(error)})"


def _detail(error: urllib.error.HTTPError) -> str:
    """Return what the problem document says, in one printable line: its sender is not trusted."""
    try:
        detail = json.loads(error.read(65536)).get("detail", "")
    except (OSError, HTTPException, ValueError, AttributeError, RecursionError):
        detail = ""
    text = ""
    if isinstance(detail, str):
        text = _printed(detail)
    return text or f"the server answered with status {error.code}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A report goes to the address in the link and nowhere else."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


def _open(request: urllib.request.Request, timeout: float) -> Any:
    # A proxy of the environment is for the world outside, not for this machine.
    local = urlsplit(request.full_url).hostname in LOOPBACK
    handlers = [_NoRedirect(), *([urllib.request.ProxyHandler({})] if local else [])]
    request.add_header("User-Agent", "hushpoll")
    return urllib.request.build_opener(*handlers).open(request, timeout=timeout)


def _reason(error: Exception) -> str:
    return _printed(str(getattr(error, "reason", None) or error)) or type(error).__name__


def _printed(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text[:300])
