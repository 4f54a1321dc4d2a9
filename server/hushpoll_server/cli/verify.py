"""`hushpoll verify`: does a server serve what the installed release holds?"""

from __future__ import annotations

import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from hushpoll_client import HushpollError, Survey
from hushpoll_client.link import Link, split_address

from hushpoll_server.config import Config
from hushpoll_server.serve.pins import check_pins

from .output import json_option, print_json

if TYPE_CHECKING:
    from hushpoll_server.respond.owned import Owned

_SECONDS = 20


@click.command()
@click.argument("url")
@json_option
def verify(url: str, as_json: bool) -> None:
    """Compare what the server at URL serves with this installed release, byte for byte.

    URL is a survey's link or the server's address. Compared are all modules and styles that the respondent's browser
    gets, and, for a link, the survey's document, the page itself and its longer explanations in each language. It shows
    what the server serves to this machine, now; a server could serve something else to others. Ends with status 1 where
    anything differs.

    \b
    Example:
      hushpoll verify https://survey.example.org/s/953b9c...#953b9c...
    """
    parts = split_address(url)
    if parts is None:
        raise HushpollError(
            f"{url[:80]}: is not an address", "give one like https://survey.example.org/s/..."
        )
    check_pins()
    origin = f"{parts.scheme}://{parts.netloc}"
    says: list[str] = []
    compared = list(_compare(origin, url if "/s/" in parts.path else None, says))
    different = [f"{origin}{name}" for name, same in compared if not same]
    if as_json:
        print_json({"url": url, "compared": len(compared), "different": different, "says": says})
    else:
        _tell(len(compared), different, says)
    if different:
        raise click.exceptions.Exit(1)


def _tell(compared: int, different: list[str], says: list[str]) -> None:
    for line in [*says, *(f"DIFFERENT  {address}" for address in different)]:
        click.echo(line)
    if different:
        click.echo(f"{len(different)} of {compared} files are not those of this release.")
    else:
        click.echo(f"{compared} files, all as in this release.")


def _compare(origin: str, link: str | None, says: list[str]) -> Iterator[tuple[str, bool]]:
    """Compare file by file; what the operator says on the page, which is no release's, is put among `says`."""
    from hushpoll_server.respond.assets import asset, asset_paths, release
    from hushpoll_server.respond.owned import read_back

    for path in sorted(asset_paths()):
        mine = asset(path)
        assert mine is not None
        address = f"/static/{release()}/{path}"
        yield address, _get(origin + address) == mine.body
    if link is not None:
        survey_hash = Link.parse(link).hash
        document = _get(f"{origin}/api/surveys/{survey_hash}")
        survey = Survey.from_published(document, expected_hash=survey_hash)
        yield f"/api/surveys/{survey_hash}", True
        served = {path: _get(origin + path) for path in _addresses(survey)}
        owned = read_back(next(iter(served.values())).decode(errors="replace"))
        says += owned.lines()
        rendered = _pages(origin, survey, owned)
        for path, page in served.items():
            yield path, page in rendered[path]


def _addresses(survey: Survey) -> list[str]:
    from hushpoll_server.respond.assets import release
    from hushpoll_server.spoken import LANGUAGES

    pages = [f"/s/{survey.hash}?lang={name}" for name in LANGUAGES]
    return pages + [f"/static/{release()}/words/{name}.json" for name in LANGUAGES]


def _pages(origin: str, survey: Survey, owned: Owned) -> dict[str, list[bytes]]:
    """Render the page as this release does, in each language: open or closed, with and without public results."""
    from hushpoll_server import create_app
    from hushpoll_server.collect.closing import close
    from hushpoll_server.collect.retention import set_day
    from hushpoll_server.store.surveys import open_store, today

    with tempfile.TemporaryDirectory(prefix="hushpoll-verify-") as folder:
        data = Path(folder) / "data"
        config = Config(
            data=data,
            public_url=origin,
            testing=True,
            imprint=owned.imprint,
            imprint_url=owned.imprint_url,
        )
        store = open_store(config)
        store.publish(survey)
        if owned.delete_on is not None and owned.delete_on > today():
            set_day(store, survey.hash, owned.delete_on, "verify")
        app = create_app(config)
        pages: dict[str, list[bytes]] = {path: [] for path in _addresses(survey)}
        for is_closed in (False, True):
            if is_closed:
                close(store, survey.hash)
            # Which of these a server should show is the owner's choice; that its page is one of them, the release's.
            for is_public in (False, True):
                store.set_results_public(survey.hash, is_public, live=is_public)
                for path, found in pages.items():
                    found.append(app.test_client().get(path, base_url=origin).data)
        app.extensions["hushpoll"].close()
        store.close()
    return pages


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What another address serves says nothing about this one."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


def _get(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity"})  # noqa: S310
    try:
        with urllib.request.build_opener(_NoRedirect()).open(request, timeout=_SECONDS) as answer:
            body: bytes = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            leads_to = error.headers.get("Location")
        if leads_to is not None:
            printed = "".join(sign if sign.isprintable() else " " for sign in leads_to[:200])
            raise HushpollError(
                f"{url[:120]}: leads on to {printed}",
                "nothing was compared; verify that address, and hand out no link that is led on",
            ) from None
        return b""
    except (OSError, ValueError) as error:
        raise HushpollError(f"{url[:120]}: no answer ({error})", "check the address") from None
    return body
