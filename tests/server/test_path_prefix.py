"""A server below a path of a shared host: PUBLIC_URL=https://example.org/school."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from flask import Flask
from hushpoll_client import HushpollError
from hushpoll_server import mail
from hushpoll_server.config import Config
from hushpoll_server.people import password_reset
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.paper import slips
from hushpoll_server.workspace.sharing.routes import embed_code

from tests.server.accounts_kit import PASSWORD, QUESTION, make_draft, make_published, signed_in
from tests.serving import new_report

PREFIX = "/school"
SETTINGS = {"public_url": f"https://example.org{PREFIX}"}
HOST = "https://example.org"


@pytest.mark.parametrize("passed_on", [True, False])
def test_pages_and_reports_work_whether_or_not_the_proxy_passes_the_path_on(
    site: tuple[Flask, Store], passed_on: bool
) -> None:
    app, store = site
    client, before = signed_in(app, store, None), PREFIX if passed_on else ""
    survey = make_published(store)
    page = client.get(f"{before}/s/{survey.hash}", base_url=HOST)
    assert page.status_code == 200
    local = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert local
    for address in local:
        assert address.startswith(f"{PREFIX}/"), address
        response = client.get(address if passed_on else address.removeprefix(PREFIX), base_url=HOST)
        assert response.status_code == 200, address
    reports = f"{before}/api/surveys/{survey.hash}/reports"
    sent = client.post(
        reports, data=new_report(survey).to_bytes(), content_type="application/json", base_url=HOST
    )
    assert sent.status_code == 201


def test_signing_in_leads_back_to_the_requested_page(site: tuple[Flask, Store]) -> None:
    app, store = site
    client = signed_in(app, store, None)
    survey = make_published(store)
    target = f"{PREFIX}/surveys/{survey.hash}"
    away = client.get(target, base_url=HOST)
    assert away.location.startswith(f"{PREFIX}/sign-in?next=")
    form_page = client.get(away.location, base_url=HOST)
    hidden = dict(re.findall(r'name="(csrf_token|next)"[^>]* value="([^"]*)"', form_page.text))
    back = client.post(
        f"{PREFIX}/sign-in", data={**hidden, "name": "owner", "password": PASSWORD}, base_url=HOST
    )
    assert (back.status_code, back.location) == (302, target)
    assert f"Path={PREFIX}" in "".join(back.headers.getlist("Set-Cookie"))
    assert client.get(target, base_url=HOST).status_code == 200


def test_no_page_of_the_workspace_leads_outside_the_path(site: tuple[Flask, Store]) -> None:
    """Among them are the forms of a question and of the privacy plan, and the links of languages."""
    app, store = site
    owner, draft = signed_in(app, store, None), make_draft(store, "owner", QUESTION)
    token = re.search(
        r'name="csrf_token"[^>]* value="([^"]*)"', owner.get(f"{PREFIX}/sign-in", base_url=HOST).text
    )
    assert token
    fields = {"csrf_token": token[1], "name": "owner", "password": PASSWORD}
    assert owner.post(f"{PREFIX}/sign-in", data=fields, base_url=HOST).status_code == 302
    at = f"{PREFIX}/drafts/{draft.id}"
    for path in (f"{PREFIX}/surveys", at, f"{at}/questions/new", f"{at}/privacy", f"{at}/publish"):
        page = owner.get(path, base_url=HOST)
        assert page.status_code == 200, path
        local = re.findall(r'(?:href|src|action|data-[a-z]+)="(/[^"]*)"', page.text)
        assert [address for address in local if not address.startswith(f"{PREFIX}/")] == []
        following = re.findall(r"next=([^\"&]*)", page.text)
        assert following
        assert all(unquote(address).startswith(f"{PREFIX}/") for address in following)


def test_links_that_are_handed_out_carry_the_path(site: tuple[Flask, Store], tmp_path: Path) -> None:
    config = Config.from_environment({"DATA": str(tmp_path), "PUBLIC_URL": f"https://example.org{PREFIX}/"})
    assert (config.prefix, config.address) == (PREFIX, f"https://example.org{PREFIX}")
    assert Config.from_environment({"PUBLIC_URL": "https://example.org"}).prefix == ""


@pytest.mark.parametrize("path", ["/a b", "/../x", "//x", "/a?b", "/a#b", "/%2f", "/<script>"])
def test_a_path_that_no_link_can_carry_is_refused(path: str) -> None:
    with pytest.raises(HushpollError, match="PUBLIC_URL"):
        Config.from_environment({"PUBLIC_URL": f"https://example.org{path}"})


def test_a_path_that_begins_like_an_own_page_is_refused(site: tuple[Flask, Store]) -> None:
    """Behind a proxy that strips the path, https://example.org/surveys/surveys would show the first page."""
    names = {rule.rule.split("/")[1] for rule in site[0].url_map.iter_rules()} - {""}
    assert len(names) > 10
    for name in names:
        with pytest.raises(HushpollError, match="is the address of a page"):
            Config.from_environment({"PUBLIC_URL": f"https://example.org/{name}/x"})
    assert Config.from_environment({"PUBLIC_URL": "https://example.org/x/surveys"}).prefix == "/x/surveys"


def test_whole_addresses_have_the_path_once(
    site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for mails with a link for a new password, printed slips and embed codes."""
    app, store = site
    survey, address = make_published(store, invitation=True), f"https://example.org{PREFIX}"
    client = signed_in(app, store, None)

    def send(path: str, **fields: str) -> None:
        page = client.get(f"{PREFIX}{path}", base_url=HOST).text
        token = re.search(r'name="csrf_token"[^>]* value="([^"]*)"', page)
        assert token, page
        client.post(f"{PREFIX}{path}", data={"csrf_token": token[1], **fields}, base_url=HOST)

    links: list[str] = []

    def request_link(_store: Store, _name: str, link_to: Callable[[str], str], _remote: str) -> None:
        links.append(link_to("x"))

    monkeypatch.setattr(mail, "is_configured", lambda _: True)
    monkeypatch.setattr(password_reset, "request_link", request_link)
    send("/sign-in/forgotten", name="owner")
    assert links == [f"{address}/sign-in/reset/x"]
    with app.test_request_context(f"{PREFIX}/", base_url=f"{HOST}{PREFIX}"):
        assert f'src="{address}/results/{survey.hash}/embed"' in embed_code(survey)
    addresses: list[str] = []
    monkeypatch.setattr(
        slips, "render_template", lambda *_, **values: addresses.append(values["short"]) or ""
    )
    send("/sign-in", name="owner", password=PASSWORD)
    client.get(f"{PREFIX}/surveys/{survey.hash}/slips", base_url=HOST)
    assert addresses == [f"{address}/s/{survey.hash[:12]}"]
