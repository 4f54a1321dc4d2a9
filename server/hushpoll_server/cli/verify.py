"""`hushpoll verify`: does a server serve what the installed release holds?"""

from __future__ import annotations

import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import click
from hushpoll_client import HushpollError, Survey
from hushpoll_client.cli.output import json_option, print_json
from hushpoll_client.delivery.deadline import within
from hushpoll_client.delivery.link import Link, split_address

from hushpoll_server.config import Config
from hushpoll_server.serve.asset_pins import check_pins

if TYPE_CHECKING:
    from hushpoll_server.respond.operator_content import OperatorContent

_PARTLY = (
    "Only scripts and policy of the page were compared; pip install 'hushpoll[server]' compares all of it."
)
# For one answer, from the first byte to the last, and for all of them.
_SECONDS = 20.0
_SECONDS_IN_ALL = 180.0
# More than any file of a release has; what is longer differs.
_MOST_BYTES = 4 << 20


@click.command()
@click.argument("url")
@json_option
def verify(url: str, as_json: bool) -> None:
    """Compare what the server at URL serves with this installed release, byte for byte.

    URL is a survey's link or the server's address. Compared are all modules and styles that the respondent's browser
    gets, and, for a link, the survey's document, the page at the address in the link and in each language, and its
    longer explanations; with each, all headers but those that make a browser do nothing more, such as Date and Server.
    It shows what the server serves to this machine, now; a server could serve something else to others. Ends with
    status 1 where anything differs.

    \b
    Example:
      hushpoll verify https://survey.example.org/s/953b9c...#953b9c...
    """
    url = url.strip()
    parts = split_address(url)
    if parts is None:
        raise HushpollError(
            f"{url[:80]}: is not an address", "give one like https://survey.example.org/s/..."
        )
    check_pins()
    link = None
    if "/s/" in parts.path:
        link = Link.parse(url)
    # All of the address before /s/: a server may answer otherwise below another path.
    if link:
        base = link.server
    else:
        base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    opened = parts._replace(fragment="").geturl().removeprefix(base)
    says: list[str] = []
    compared = list(_compare(base, link, opened, says))
    different = {f"{base}{path}": headers for path, headers in compared if headers is not None}
    if as_json:
        details = {
            "different": list(different),
            "headers": {url: names for url, names in different.items() if names},
        }
        print_json({"url": url, "compared": len(compared), **details, "says": says})
    else:
        _print_differences(len(compared), different, says)
    if different:
        raise click.exceptions.Exit(1)


def _print_differences(compared: int, different: dict[str, list[str]], says: list[str]) -> None:
    for line in says:
        click.echo(line)
    for address, headers in different.items():
        line = f"DIFFERENT  {address}"
        if headers:
            line += f"  (headers: {', '.join(headers)})"
        click.echo(line)
    if different:
        click.echo(f"{len(different)} of {compared} files are not those of this release.")
    else:
        click.echo(f"{compared} files, all as in this release.")


def _compare(base: str, link: Link | None, opened: str, says: list[str]) -> Iterator[_Compared]:
    """Compare file by file; what the operator says on the page, which is no release's, is put among `says`."""
    from hushpoll_server.respond.manifest import asset_paths, release
    from hushpoll_server.respond.operator_content import OperatorContent, read_back

    paths = [f"/static/{release()}/{path}" for path in sorted(asset_paths())]
    survey, owned = None, OperatorContent()
    server = _Server(base)
    if link is not None:
        document = server.get(f"/api/surveys/{link.hash}").body
        survey = Survey.from_published(document, expected_hash=link.hash)
        owned = read_back(server.get(opened).body.decode(errors="replace"))
        says += owned.lines()
    if find_spec("flask") is None:
        if link is None:
            yield from _compare_files(server, None)
        else:
            yield from _compare_files(server, opened)
            says.append(_PARTLY)
        return
    if link is not None and survey is not None:
        paths += [f"/api/surveys/{link.hash}", *_addresses(survey, opened)]
    rendered = _rendered(base, survey, owned, paths)
    for path in paths:
        yield path, _difference(server.get(path), rendered[path])


def _compare_files(server: _Server, opened: str | None) -> Iterator[_Compared]:
    """Compare what needs no rendering: every file, and of the page its scripts and its policy."""
    from hushpoll_server.respond.manifest import asset_paths, read_asset, release

    static = f"/static/{release()}/"
    for path in sorted(asset_paths()):
        asset, answer = read_asset(path), server.get(f"{static}{path}")
        difference: list[str] | None = None
        if answer.body != asset.body:
            difference = []
        elif ("content-type", "".join(asset.content_type.split())) not in answer.headers:
            difference = ["content-type"]
        yield f"{static}{path}", difference
    if opened is not None:
        yield opened, page_difference(server.get(opened), f"{urlsplit(server.base).path}{static}")


def page_difference(page: _Answer, static: str) -> list[str] | None:
    """Return None if a page runs only scripts of this release below the address `static`, and the policy is sound."""
    from hushpoll_server.respond.manifest import START, read_asset

    scripts = _Scripts()
    scripts.feed(page.body.decode(errors="replace"))
    expected = {"type": "module", "src": f"{static}{START}", "integrity": read_asset(START).integrity}
    if scripts.run != [expected]:
        return []
    policy = dict(page.headers).get("content-security-policy", "")
    if "script-src'self';" in policy:
        return None
    return ["content-security-policy"]


class _Scripts(HTMLParser):
    """The scripts of a page that a browser runs, by their attributes; data is no script."""

    def __init__(self) -> None:
        super().__init__()
        self.run: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a script; anything else that loads other pages' scripts counts as one."""
        attributes = dict(attrs)
        data = tag == "script" and attributes.get("type") == "application/json"
        if tag in ("script", "base", "iframe", "object", "embed") and not data:
            self.run.append(attributes)


def _difference(answer: _Answer, expected: list[_Answer]) -> list[str] | None:
    """Name the headers that are not the release's: none where it is the rest, nothing where all is the same."""
    if answer in expected:
        return None
    same = [candidate for candidate in expected if candidate.body == answer.body]
    if same:
        return sorted({name for name, _ in set(answer.headers) ^ set(same[0].headers)})
    return []


def _addresses(survey: Survey, opened: str) -> list[str]:
    from hushpoll_server.i18n.languages import LANGUAGES
    from hushpoll_server.respond.manifest import release

    # The one that people open first: most links have a shorter address than the page's own.
    pages = [opened, *(f"/s/{survey.hash}?lang={name}" for name in LANGUAGES)]
    return pages + [f"/static/{release()}/words/{name}.json" for name in LANGUAGES]


def _rendered(
    base: str, survey: Survey | None, owned: OperatorContent, paths: list[str]
) -> dict[str, list[_Answer]]:
    """Answer as this release does: a page open or closed, with and without public results."""
    from hushpoll_server import create_app
    from hushpoll_server.collect.closing import close
    from hushpoll_server.collect.retention import set_day
    from hushpoll_server.store.surveys import open_store, today

    with tempfile.TemporaryDirectory(prefix="hushpoll-verify-") as folder:
        data = Path(folder) / "data"
        config = Config(
            data=data,
            public_url=base,
            testing=True,
            imprint=owned.imprint,
            imprint_url=owned.imprint_url,
        )
        store = open_store(config)
        if survey is not None:
            store.publish(survey)
        if survey is not None and owned.delete_on is not None and owned.delete_on > today():
            set_day(store, survey.hash, owned.delete_on, "verify")
        app = create_app(config)
        answers: dict[str, list[_Answer]] = {path: [] for path in paths}
        states = [(False, False)]
        if survey is not None:
            states = [(False, False), (False, True), (True, False), (True, True)]
        for is_closed, is_public in states:
            # Which of these a server should show is the owner's choice; that its page is one of them, the release's.
            if survey is not None:
                if is_closed:
                    close(store, survey.hash)
                store.set_results_public(survey.hash, is_public, live=is_public)
            for path, expected in answers.items():
                answer = app.test_client().get(path, base_url=base)
                expected.append(_Answer(answer.data, _compared_headers(answer.headers.items())))
        app.extensions["hushpoll"].close()
        store.close()
    return answers


# An address, and what of it is different: see _difference.
_Compared = tuple[str, list[str] | None]
# What servers and proxies add, and what no browser does anything for that the page does not promise. Every other header
# must be the release's: of those that browsers will know next year, too.
_HARMLESS = frozenset(
    (
        *(
            "accept-ranges",
            "age",
            "alt-svc",
            "connection",
            "content-encoding",
            "content-length",
            "date",
            "etag",
        ),
        *(
            "keep-alive",
            "last-modified",
            "server",
            "strict-transport-security",
            "transfer-encoding",
            "vary",
            "via",
        ),
    )
)


class _Answer(NamedTuple):
    """What a server answers: its bytes, and the headers that matter."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


def _compared_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Read the headers that matter: as often as they come, however they are spaced."""
    lowered = ((name.lower(), "".join(value.lower().split())) for name, value in headers)
    return tuple(sorted((_printed(name), value) for name, value in lowered if name not in _HARMLESS))


def _printed(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text[:200])


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What another address serves says nothing about this one."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


class _Server:
    """Fetch from a server that may be slow or hostile, within the limits stated above."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._until = time.monotonic() + _SECONDS_IN_ALL

    def get(self, path: str) -> _Answer:
        """Get what is at a path."""
        url = self.base + path
        left = min(_SECONDS, self._until - time.monotonic())
        try:
            return within(max(0.0, left), lambda: _get(url))
        except (OSError, ValueError, HTTPException) as error:
            reason = _printed(str(error)) or type(error).__name__
            raise HushpollError(f"{url[:120]}: no answer ({reason})", "check the address") from None


def _get(url: str) -> _Answer:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity"})  # noqa: S310
    try:
        with urllib.request.build_opener(_NoRedirect()).open(request, timeout=_SECONDS) as answer:
            return _Answer(answer.read(_MOST_BYTES), _compared_headers(answer.headers.items()))
    except urllib.error.HTTPError as error:
        with error:
            leads_to = error.headers.get("Location")
        if leads_to is not None:
            raise HushpollError(
                f"{url[:120]}: leads on to {_printed(leads_to)}",
                "nothing was compared; verify that address, and hand out no link that is led on",
            ) from None
        return _Answer(b"", ())
