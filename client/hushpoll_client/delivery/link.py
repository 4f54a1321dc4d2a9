"""A respondent's link: where the survey is, which one is meant, perhaps a group and an invitation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from hushpoll_client.errors import SubmitError
from hushpoll_client.survey import Survey

__all__ = ["LOOPBACK", "SHORT", "Link", "fingerprint", "split_address", "survey_link"]

_PATH = re.compile(r"(?P<base>(?:/[^?#]*)?)/s/(?P<hash>[0-9a-f]{8,64})/?")
_HASH = re.compile(r"[0-9a-f]{64}")
_GROUP = re.compile(r"g(0|[1-9][0-9]{0,2})")
SHORT = 12
"""The digits of a hash that an address needs; a server publishes no second survey that begins with the same ones."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def survey_link(
    server: str, survey_hash: str, invitation: str | None = None, group: int | None = None
) -> str:
    """Return the link to hand out: short, with the whole hash after #, which the client checks."""
    tail = ""
    if group is not None:
        tail = f".g{group}"
    if invitation:
        tail += f".{invitation}"
    return f"{server.rstrip('/')}/s/{survey_hash[:SHORT]}#{survey_hash}{tail}"


def fingerprint(survey_hash: str) -> str:
    """Return the characters of a hash that people compare: the page shows them, and so does what was handed out."""
    return survey_hash[:8]


def split_address(url: str) -> SplitResult | None:
    """Split an http or https address; give nothing where no connection could be made to it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")
        good = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        return None
    if good and not any(sign.isspace() for sign in host):
        return parts
    return None


def _origin(parts: SplitResult) -> str:
    """Return scheme, host and port in the one spelling that browsers use: LOCALHOST is localhost, :443 goes without."""
    netloc = parts.netloc.lower()
    default = {"http": ":80", "https": ":443"}[parts.scheme]
    return f"{parts.scheme}://{netloc.removesuffix(default)}"


@dataclass(frozen=True)
class Link:
    """A respondent's link, taken apart: `/s/<hash>#<hash>`, then perhaps `.g<group>` and `.<invitation>`.

    Browsers do not send the part after # when they open a link, so the hash in it tells whether the survey is the one
    that was meant. The invitation in it is sent later, in the body of requests: once to check it, and with the report.
    Only the survey tells whether there are groups: see `of`.
    """

    server: str
    hash: str
    invitation: str | None = None
    in_fragment: bool = True
    group: int | None = None

    @classmethod
    def parse(cls, url: str) -> Link:
        """Read a link; a hash in the address that differs from the one after # is refused."""
        parts = split_address(url.strip())
        if parts is None:
            raise SubmitError(f"{url!r} is not an http or https address", "copy the whole link")
        path = _PATH.fullmatch(parts.path)
        if path is None:
            raise SubmitError(
                f"{url!r} is not the address of a survey", "it must end in /s/ and the survey's hash"
            )
        named, _, code = parts.fragment.partition(".")
        if named and not _HASH.fullmatch(named):
            raise SubmitError("the part after # is not a survey's hash", "copy the whole link")
        if named and not named.startswith(path["hash"]):
            raise SubmitError(
                "the hash after # is not that of the address", "do not answer; ask for a fresh link"
            )
        full = named or path["hash"]
        if not _HASH.fullmatch(full):
            raise SubmitError(
                "a short address needs the survey's hash after #", "open it in a browser and copy the link"
            )
        return cls(f"{_origin(parts)}{path['base']}", full, code or None, bool(named))

    def __str__(self) -> str:
        return survey_link(self.server, self.hash, self.invitation, self.group)

    def of(self, survey: Survey) -> Link:
        """Read the rest as the survey has it: where it has groups, the link must name one."""
        if not survey.groups:
            return self
        named, _, code = (self.invitation or "").partition(".")
        match = _GROUP.fullmatch(named)
        if match is None or int(match[1]) >= len(survey.groups):
            raise SubmitError(
                "the link names no group of this survey", "ask for the link of your group; nothing was sent"
            )
        return replace(self, invitation=code or None, group=int(match[1]))

    @property
    def unprotected(self) -> bool:
        """Whether others on the network could read or change what is exchanged."""
        parts = urlsplit(self.server)
        return parts.scheme == "http" and parts.hostname not in LOOPBACK

    @property
    def document_url(self) -> str:
        """Where the published survey is."""
        return f"{self.server}/api/surveys/{self.hash}"

    @property
    def reports_url(self) -> str:
        """Where reports go."""
        return f"{self.document_url}/reports"
