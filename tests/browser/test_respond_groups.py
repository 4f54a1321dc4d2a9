"""Groups by link in a real Chromium: shown before Start, sent openly, refused if the link names none."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from hushpoll_analysis.simulation.groups import simulate_columns
from hushpoll_client import Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_server.collect import invitations
from hushpoll_server.store.schema import sealed, surveys
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import insert, update

from tests.browser.pictures import keep_picture
from tests.browser.respondent import (
    ARTEFACTS,
    CHEATED,
    REASON,
    Posts,
    begin,
    fill,
    heading,
    open_page,
    press_send,
    show_all,
    stored,
)
from tests.browser.waiting import patient, resize
from tests.browser.workspace_kit import axe, make_draft, shoot
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
NAMES = ["Science", "Fine arts & <b>music</b>"]


def grouped(server: LiveServer, title: str, **more: Any) -> Survey:
    questions = [CHEATED, REASON]
    survey = Survey.from_draft(
        {"hushpoll": 1, "title": title, "questions": questions, "groups": NAMES} | more
    )
    server.store.publish(survey)
    return survey


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_group_is_shown_before_start_and_sent(
    browser: Browser, page_server: LiveServer, width: int
) -> None:
    survey = grouped(page_server, f"Groups at {width}")
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    posts = Posts(page)
    open_page(page, survey_link(page_server.url, survey.hash, group=1))
    notice = page.get_by_text("Your answers will be counted with: ")
    expect(notice).to_be_visible()
    expect(notice).to_contain_text("Fine arts & <b>music</b>")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    keep_picture(page, ARTEFACTS / f"group-start-{width}.png")
    fill(page, "Yes", "Fear")
    press_send(page)
    heading(page, "Sent")
    (body,) = posts.bodies
    sent = json.loads(body)
    assert set(sent) == {"group", "id", "reports"}
    assert sent["group"] == 1
    assert list(stored(page_server, survey).values()) == [(1, *sent["reports"])]
    page.get_by_text("See exactly what was sent").click()
    expect(page.locator("pre")).to_contain_text('{"group":1,"id":"')
    page.reload()
    heading(page, "Sent")
    context.close()


@pytest.mark.parametrize("tail", ["", ".g2", ".g", ".gx", ".g01", ".code", ".g1.", ".g-1"])
def test_a_link_without_a_valid_group_is_refused(page: Page, page_server: LiveServer, tail: str) -> None:
    survey = grouped(page_server, f"Refused {tail}")
    page.goto(f"{page_server.url}/s/{survey.hash}#{survey.hash}{tail}")
    if tail == ".g1.":  # an empty code is not a code
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        return
    heading(page, "This survey cannot be answered here")
    expect(page.locator("main")).to_contain_text(
        "This link names no group. Ask the person who sent it for the link of your group."
    )
    expect(page.locator("main")).to_contain_text("Nothing was sent.")
    expect(page.get_by_role("button", name="Start")).to_have_count(0)


def test_a_waiting_report_keeps_its_group(page: Page, page_server: LiveServer) -> None:
    """The same person with the other group's link: what was drawn goes out as it is, once."""
    survey = grouped(page_server, "Kept")
    posts = Posts(page)
    page.route("**/reports", lambda route: route.abort())
    open_page(page, survey_link(page_server.url, survey.hash, group=0))
    fill(page, "No", "Time")
    press_send(page)
    heading(page, "Not sent yet")
    page.goto("about:blank")  # before it tries again by itself
    page.unroute("**/reports")
    page.goto(survey_link(page_server.url, survey.hash, group=1))
    heading(page, "Not sent yet")
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert {json.loads(body)["group"] for body in posts.bodies} == {0}
    assert len({json.loads(body)["id"] for body in posts.bodies}) == 1


def test_a_code_of_another_group_is_refused_before_anything_is_typed(
    page: Page, page_server: LiveServer
) -> None:
    survey = grouped(page_server, "Invited", settings={"invitation": True})
    (code,) = invitations.invite(page_server.store, survey.hash, 1, 0)
    patient(page)  # the code is looked up, however long it takes
    page.goto(survey_link(page_server.url, survey.hash, code, 1))
    heading(page, "This survey cannot be answered here")
    expect(page.locator("main")).to_contain_text("This invitation is unknown here")
    posts = Posts(page)
    page.goto("about:blank")
    open_page(page, survey_link(page_server.url, survey.hash, code, 0))
    fill(page, "Yes", "Fear")
    press_send(page)
    heading(page, "Sent")
    sent = json.loads(posts.bodies[0])
    assert (sent["group"], sent["invitation"]) == (0, code)


@pytest.mark.parametrize(
    ("language", "notice", "refused"),
    [
        ("fr", "Vos réponses seront comptées avec", "Ce lien ne nomme aucun groupe"),
        ("de", "Ihre Antworten werden gezählt mit", "Dieser Link nennt keine Gruppe"),
        ("es", "Sus respuestas se contarán con", "Este enlace no nombra ningún grupo"),
        ("ar", "ستُحسب إجاباتك مع", "لا يسمّي هذا الرابط أي مجموعة"),
    ],
)
def test_the_notice_is_shown_in_every_language(
    page: Page, page_server: LiveServer, language: str, notice: str, refused: str
) -> None:
    survey = grouped(page_server, f"In {language}")
    page.goto(f"{page_server.url}/s/{survey.hash}?lang={language}#{survey.hash}.g0")
    expect(page.get_by_text(notice)).to_contain_text("Science")
    page.goto("about:blank")
    page.goto(f"{page_server.url}/s/{survey.hash}?lang={language}#{survey.hash}")
    expect(page.locator("main")).to_contain_text(refused)


def test_groups_blocks_and_decoys_go_together(page: Page, page_server: LiveServer) -> None:
    from tests.vectors.surveys import groups_and_blocks

    survey = Survey.from_draft(groups_and_blocks() | {"settings": {}, "title": "Together"})
    page_server.store.publish(survey)
    posts = Posts(page)
    open_page(page, survey_link(page_server.url, survey.hash, group=2))
    begin(page)
    for group in page.get_by_role("group").all():
        group.get_by_role("radio").first.check(force=True)
    press_send(page)
    heading(page, "Sent")
    sent = json.loads(posts.bodies[0])
    assert sent["group"] == 2
    assert list(stored(page_server, survey).values()) == [(2, *sent["reports"])]


def test_the_paper_link_knows_the_group(page: Page, page_server: LiveServer) -> None:
    only = {"questions": [CHEATED]}
    survey = grouped(page_server, "Paper", **only)
    open_page(page, survey_link(page_server.url, survey.hash, group=1))
    show_all(page)
    page.get_by_text("How we know").click()
    page.get_by_role("link", name="Answer with coins or dice on paper").click()
    expect(page.locator("main")).to_contain_text(
        "Your answers will be counted with: \u2068Fine arts & <b>music</b>\u2069"
    )


# The designer's and the statistician's pages ---------------------------------------------------------------------


def test_the_designer_names_groups_and_hands_out_their_links(designer: Page, server: LiveServer) -> None:
    page = designer
    question = {"id": "q1", "kind": "yes_no", "text": "Did you do it?", "mechanism": {"epsilon": "1"}}
    draft = make_draft(server.store, "Faculties", question)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.locator("details.settings summary").click()
    page.get_by_label("Groups").fill("Science\nscience")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("appears twice; give every group its own name")
    expect(page.get_by_label("Groups")).to_be_visible()
    page.get_by_label("Groups").fill("Science\nFine arts\nLaw")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice-done", has_text="Saved.")).to_be_visible()
    axe(page)
    shoot(page, "groups-draft")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text("Your answers will be counted with: ")).to_contain_text("Science")
    page.goto(f"{server.url}/drafts/{draft.id}/publish")
    expect(page.locator(".checklist")).to_contain_text(
        "3 groups, each with its own link: Science, Fine arts, Law."
    )
    page.locator("input[name=frozen]").check()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_label("The link for Fine arts")).to_have_value(re.compile(r"\.g1$"))
    expect(page.get_by_role("img", name="QR code of the link for Law")).to_be_visible()
    axe(page)
    shoot(page, "groups-survey")
    for width in (320, 390, 1280):
        resize(page, width, 844)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
    page.get_by_label("Science", exact=True).fill("1200")
    page.locator("#sizes").get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Fill in this one too, or leave all of them empty.")
    page.get_by_label("Fine arts", exact=True).fill("800")
    page.get_by_label("Law", exact=True).fill("300")
    page.locator("#sizes").get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Results are weighted by group.")).to_be_visible()
    page.get_by_role("link", name="Poster to print").nth(1).click()
    expect(page.locator(".poster-group")).to_have_text("For: Fine arts")
    axe(page)
    shoot(page, "groups-poster")


def test_results_by_group_on_the_page(designer: Page, server: LiveServer) -> None:
    page = designer
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "By faculty",
            "questions": [CHEATED, REASON],
            "groups": ["Science", "Arts", "Law"],
        }
    )
    server.store.publish(survey, "ines")
    columns = simulate_columns(
        survey, 900, {"cheated": [0.6, 0.4], "reason": [0.25] * 4, "group": [0.6, 0.36, 0.04]}, 2
    )
    published = server.store.published(survey.hash)
    assert published is not None
    groups = [survey.groups.index(name) for name in columns["group"]]
    rows = zip(groups, columns["cheated"].tolist(), columns["reason"].tolist(), strict=True)
    with server.store.write() as tx:
        tx.execute(
            insert(sealed),
            [
                {"survey": published.number, "key": os.urandom(16), "record": published.format.pack(row)}
                for row in rows
            ],
        )
        tx.execute(update(surveys).where(surveys.c.hash == survey.hash).values(sealed_n=900))
    page.goto(f"{server.url}/surveys/{survey.hash}/report")
    page.get_by_label("Within the groups of").select_option("group")
    page.locator("form", has_text="Whole report").get_by_role("button", name="Show").click()
    expect(page.locator("main")).to_contain_text("Shown together as “other”: Arts, Law.")
    axe(page)
    shoot(page, "groups-report")
