"""The Help link leads to what the documentation says about the step that is open."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_server.manual.help_places import HELP_PLACES
from hushpoll_server.manual.pages import rendered
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import QUESTION, make_draft


@pytest.mark.parametrize("place", sorted(set(HELP_PLACES.values()), key=str))
def test_every_place_is_in_the_documentation(place: tuple[str, str | None]) -> None:
    page, heading = place
    assert heading is None or heading in rendered(page).anchors


def test_places_are_those_of_pages_that_there_are(site: tuple[Flask, Store]) -> None:
    assert set(HELP_PLACES) <= set(site[0].blueprints)


@pytest.mark.parametrize(
    ("step", "heading"),
    [
        ("", "write-the-questions"),
        ("/questions/q1", "write-the-questions"),
        ("/sharing", "work-with-others"),
        ("/privacy", "choose-privacy-and-accuracy"),
        ("/rehearsal", "preview-and-rehearse"),
        ("/publish", "before-you-publish"),
    ],
)
def test_help_opens_at_the_step(owner: FlaskClient, site_store: Store, step: str, heading: str) -> None:
    draft = make_draft(site_store, "owner", QUESTION)
    assert f'href="/docs/publish#{heading}"' in owner.get(f"/drafts/{draft.id}{step}").text
