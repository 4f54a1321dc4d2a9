"""The documentation as the server shows it, and the terms that lead there."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from flask import Flask
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_server.manual.glossary import TERMS
from hushpoll_server.manual.pages import FOLDER, PAGES, rendered
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import QUESTION, make_draft, make_published, signed_in


def test_every_page_of_the_documentation_is_public(site: tuple[Flask, Store]) -> None:
    client = site[0].test_client()
    written = {path.stem for path in FOLDER.glob("*.md")} - {"architecture", "release"}  # for contributors
    assert set(PAGES) == written
    for name in PAGES:
        answer = client.get(f"/docs/{name}")
        assert answer.status_code == 200
        article = answer.text.partition("<article")[2].partition("</article>")[0]
        assert "style=" not in article, f"{name}: the content policy forbids styles in attributes"
        assert "```" not in article, f"{name}: a block of code is not recognised"
        assert not re.search(r'(src|href)="(?!/|#|https?:|mailto:|images/|[\w-]+(#|"))', article), name
        for target, anchor in re.findall(r'href="([\w-]*)(#[^"]*)?"', article):
            anchors = rendered(target or name).anchors if (target or name) in PAGES else None
            assert anchors is not None, f"{name} leads to {target}"
            assert not anchor or anchor[1:] in anchors, f"{name} leads to {target}{anchor}"
        for picture in re.findall(r'src="images/([^"]+)"', article):
            assert client.get(f"/docs/images/{picture}").status_code == 200
    assert client.get("/docs/").status_code == 200
    for nothing in ("/docs/nothing", "/docs/..%2Fsecret", "/docs/images/nothing.png", "/docs/release"):
        assert client.get(nothing).status_code == 404


@pytest.mark.parametrize("name", TERMS)
def test_every_term_leads_to_a_place_that_exists_and_takes_one_sentence(name: str) -> None:
    term = TERMS[name]
    assert term.anchor in rendered(term.page).anchors
    assert term.sentence.endswith(".")
    assert term.sentence.count(". ") == 0
    assert len(term.sentence) < 160


def test_the_glossary_has_each_sentence_of_the_workspaces_help() -> None:
    page = (FOLDER / "glossary.md").read_text("utf-8")
    assert [name for name, term in TERMS.items() if str(term.sentence) not in page] == []


def test_formulas_become_mathml() -> None:
    body = rendered("estimates").body
    assert body.count("<math") > 10
    assert "$$" not in body


class Outside(HTMLParser):
    """Collects the text that is not folded away, in a script or an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.folds = 0
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.folds += tag in ("details", "script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.folds -= tag in ("details", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self.folds:
            self.text.append(data)


def test_pages_of_a_draft_name_no_mechanism_outside_a_fold_and_explain_their_terms(
    site: tuple[Flask, Store],
) -> None:
    owner = signed_in(*site, "owner")
    choice = {**QUESTION, "id": "q2", "kind": "choice", "text": "Which?", "options": ["a", "b", "c"]}
    scale = {**QUESTION, "id": "q3", "kind": "scale", "text": "How?", "points": 5}
    decoy = {"name": "or_poll", "decoy": "Born in May?", "decoy_share": "1/12", "epsilon": "1"}
    draft = make_draft(
        site[1], "owner", QUESTION, choice, scale, {**QUESTION, "id": "q4", "mechanism": decoy}
    )
    survey = make_published(site[1])
    pages = [
        "",
        "/questions/new",
        "/questions/q2",
        "/questions/q4",
        "/privacy",
        "/rehearsal",
        "/publish",
        "/phone",
    ]
    names = [mechanism.label for mechanism in MECHANISMS.values()] + [
        "OR-poll",
        "K-ary",
        "krr",
        "warner",
        "or_poll",
    ]
    explained = ""
    for path in ["/surveys/new", *(f"/drafts/{draft.id}{page}" for page in pages)]:
        page = owner.get(path).text
        explained += page
        reader = Outside()
        reader.feed(page)
        text = " ".join(reader.text)
        assert [name for name in names if name in text] == [], path
    explained += owner.get(f"/surveys/{survey.hash}").text + owner.get(f"/drafts/{draft.id}/blocks/new").text
    explained += owner.get(f"/surveys/{make_published(site[1], invitation=True).hash}").text
    from markupsafe import escape

    missing = [name for name, term in TERMS.items() if str(escape(str(term.sentence))) not in explained]
    assert missing == []


def test_what_will_be_reported_comes_before_the_question(site: tuple[Flask, Store]) -> None:
    owner = signed_in(*site, "owner")
    page = owner.get(f"/drafts/{make_draft(site[1]).id}/questions/new?kind=scale").text
    positions = [
        page.index(fragment)
        for fragment in ('name="kind"', "What will you report?", 'name="text"', 'name="points"')
    ]
    assert positions == sorted(positions)


def test_the_list_is_searched_archived_and_copied(site: tuple[Flask, Store]) -> None:
    from tests.server.accounts_kit import submit

    app, store = site
    owner = signed_in(app, store, "stranger")
    draft = make_draft(store, "stranger", {**QUESTION, "text": "About zebras?"}, expected_n=777)
    other = make_draft(store, "stranger")
    survey = make_published(store, "stranger")
    assert all(title in owner.get("/surveys").text for title in (draft.title, other.title, survey.title))
    matches = owner.get("/surveys?q=ZEBRAS").text
    assert draft.title in matches
    assert other.title not in matches
    assert "Nothing found" in owner.get("/surveys?q=nowhere").text
    by_question = owner.get("/surveys?q=HAVE+you").text
    assert survey.title in by_question, "questions of published surveys are searched too"
    assert draft.title not in by_question
    for path, title in ((f"/drafts/{draft.id}", draft.title), (f"/surveys/{survey.hash}", survey.title)):
        submit(owner, f"{path}/archive", "/surveys", archived="yes")
        owner.get("/surveys")  # which shows what was done
        assert title not in owner.get("/surveys").text
        assert title in owner.get("/surveys?archived=yes").text
        assert owner.get(path).status_code == 200, "it goes on as it is"
        submit(owner, f"{path}/archive", "/surveys?archived=yes", archived="no")
        assert title in owner.get("/surveys").text
    answer = submit(owner, f"/drafts/{draft.id}/duplicate", "/surveys")
    from hushpoll_server.workspace.drafts import storage

    copy = storage.find(store, answer.location.rsplit("/", 1)[1])
    assert copy is not None
    assert (copy.title, copy.expected_n) == (f"{draft.title} (copy)", 777)
    assert copy.questions == draft.questions
