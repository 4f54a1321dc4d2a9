"""Every kind of question on the designer's way in a real Chromium: written, planned, rehearsed, published."""

from __future__ import annotations

import re

from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.survey_list.survey_templates import TEMPLATES, document_of
from playwright.sync_api import Browser, Page, expect

from tests.browser.waiting import resize
from tests.browser.workspace_kit import QUESTION, axe, check_readable, make_draft, shoot, sign_in, watched
from tests.serving import LiveServer

FIRST = {"id": "first", "kind": "yes_no", "text": "Have you?", "mechanism": {"epsilon": "1"}}
LONG = {
    "id": "town",
    "kind": "choice",
    "text": "Where do you live?",
    "options": [f"Town {number}" for number in range(1, 301)],
    "mechanism": {"epsilon": "0.7"},
}


def add(page: Page, kind: str, text: str) -> None:
    """Begin a question of a kind, from the list of kinds on the draft's page."""
    page.locator(".quick-add").get_by_role("button", name=kind).click()
    page.get_by_label("Question", exact=True).fill(text)


def finish(page: Page) -> None:
    page.get_by_role("button", name="Add the question").click()
    expect(page.get_by_role("status").filter(has_text=re.compile("Added|Saved"))).to_be_visible()


def test_every_kind_is_written_rehearsed_and_published(designer: Page, server: LiveServer) -> None:
    page = designer
    page.get_by_role("link", name=re.compile("first survey|New survey")).first.click()
    page.get_by_role("button", name="Blank survey").click()
    page.get_by_label("Title", exact=True).fill("All kinds")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice-done")).to_have_text("Saved.")

    add(page, "Yes or no", "Did you drink?")
    finish(page)
    add(page, "A point on a scale", "How are you?")
    page.get_by_label("Number of points").fill("7")
    page.get_by_label(re.compile("^Labels")).fill("Bad\nGood")
    expect(page.get_by_label("“4 or more”, the median and quartiles")).to_be_checked()
    page.locator("[name=target_scale][value=mean]").check()
    page.get_by_text("How the answer is randomized").click()
    # The first advice loads the analysis.
    reason = "fewer answers than “K-ary randomized response”"
    expect(page.locator("[data-reason]")).to_contain_text(reason)
    page.get_by_text("Compare all ways").click()
    expect(page.locator("[data-compared] tr").first).to_contain_text("1.00")
    preview = page.frame_locator("#live-preview iframe")
    expect(preview.get_by_text("How are you?")).to_be_visible()
    finish(page)
    add(page, "A number", "How many hours?")
    for label, value in (("Smallest number", "0"), ("Largest number", "80"), ("Step", "0.5")):
        page.get_by_role("textbox", name=label).fill(value)
    page.get_by_label(re.compile("^Unit")).fill("hours")
    expect(page.get_by_label(re.compile("^Number of bins"))).to_be_hidden()
    page.get_by_label("How the numbers are distributed").check()
    expect(page.get_by_label(re.compile("^Number of bins"))).to_be_visible()
    page.get_by_label(re.compile("^Number of bins")).fill("10")
    finish(page)
    add(page, "Tick all that apply", "Which did you use?")
    page.get_by_label("Options", exact=True).fill("tea\ncoffee\nmilk\nwater")
    page.get_by_label(re.compile("^Maximum number of ticks")).fill("2")
    finish(page)
    add(page, "One choice out of several", "Where?")
    # More than an address could hold: it is previewed all the same.
    page.get_by_label("Options", exact=True).fill("\n".join(f"Place {number}" for number in range(1, 301)))
    expect(preview.get_by_text("Search in 300 options")).to_be_visible()
    expect(page.get_by_text("After these answers")).to_be_hidden()
    page.get_by_label("Ask it").select_option(index=1)
    page.get_by_role("group", name="After these answers").get_by_label("Yes").check()
    finish(page)
    expect(page.get_by_text("Asked only after “Yes” to “Did you drink?”")).to_be_visible()

    # A question that a rule names stays where it is.
    page.get_by_role("button", name="Delete question 1").click()
    rule = "Question 5 is asked only after it. Change or remove that rule first."
    expect(page.get_by_text(rule)).to_be_visible()

    page.get_by_role("link", name="Next: privacy and accuracy").click()
    slider = page.get_by_role("slider")
    expect(slider).to_be_visible()
    page.get_by_label("How many answers do you expect?").fill("3000")
    page.get_by_text("Details for experts").click()
    page.get_by_label("Figures for").select_option(label="Question 2")
    margin = page.locator("[data-readout=margin]")
    expect(margin).to_have_text(re.compile(r"±[\d.]+ (points|on the scale|hours)"))
    slider.focus()
    before = margin.text_content() or ""
    page.keyboard.press("Home")
    expect(margin).not_to_have_text(before)
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="Next: preview").click()
    phone = page.frame_locator(".phone iframe")
    phone.get_by_role("button", name="Start").click()
    expect(phone.get_by_text("Did you drink?")).to_be_visible()
    page.get_by_role("link", name="Next: rehearse the report").click()
    # The question that not everybody is asked has a table of those asked, and one of everybody.
    expect(page.locator(".rehearsal-table")).to_have_count(6)
    expect(page.locator(".card-plain h3.h6")).to_have_text(
        ["Among those asked this question", "Of everybody"]
    )
    page.get_by_label("Suppose that the numbers are").select_option("two")
    with page.expect_navigation():
        page.get_by_role("button", name="Rehearse again").click()
    expect(page.get_by_label("Suppose that the numbers are")).to_have_value("two")
    page.get_by_role("link", name="Next: publish").click()
    expect(page.get_by_text("This adds the answer “Does not apply”")).to_be_visible()
    page.get_by_label("I understand that a published survey cannot be changed").check()
    page.get_by_role("button", name="Publish for good").click()
    link = page.get_by_label("The link").input_value()
    survey = server.store.get_survey(link.rpartition("#")[2])
    assert survey is not None
    kinds = sorted(question.kind.name for question in survey.questions)
    assert kinds == ["choice", "multiple", "number", "scale", "yes_no"]


def test_pairs_of_options_are_requested_by_a_checkbox(designer: Page, server: LiveServer) -> None:
    """The advice says at once what pairs cost, on a phone too, and the draft asks two options of each person."""
    page = designer
    draft = make_draft(server.store, "Pairs", FIRST)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new?kind=multiple")
    page.get_by_label("Question", exact=True).fill("Which did you use?")
    page.get_by_label("Options", exact=True).fill("\n".join("abcdefgh"))
    page.get_by_text("How the answer is randomized").click()
    reason, cost = page.locator("[data-reason]"), "Pairs need two options of each person and cost 1.2 times"
    expect(reason).to_contain_text("fewer answers")
    expect(reason).not_to_contain_text("Pairs need")
    page.get_by_label("I want to see pairs of options together").check()
    expect(reason).to_contain_text(cost)
    for width in (390, 1280):
        resize(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        axe(page)
        shoot(page, f"pairs-{width}")
    finish(page)
    stored = storage.find(server.store, draft.id)
    assert stored is not None
    assert stored.survey().questions[1].mechanism.parameters["ask"] == 2
    page.get_by_role("link", name="Edit question 2").click()
    page.get_by_role("link", name="All settings of question 2").click()
    expect(page.get_by_label("I want to see pairs of options together")).to_be_checked()
    page.get_by_label("A point on a scale").check()
    expect(page.get_by_label("I want to see pairs of options together")).to_be_hidden()


def pages(server: LiveServer) -> dict[str, str]:
    """The pages of a draft that has something of every kind."""
    questions = document_of("alcohol")["questions"]
    draft = make_draft(server.store, str(TEMPLATES["alcohol"].topic), *questions)
    long = make_draft(server.store, "A long list", LONG)
    at = f"/drafts/{draft.id}"
    paths = {"draft": at, "rehearsal": f"{at}/rehearsal", "publish": f"{at}/publish"}
    paths |= {f"edit-{question['id']}": f"{at}/questions/{question['id']}" for question in questions}
    paths["edit-town"] = f"/drafts/{long.id}/questions/town"
    return paths | {f"privacy-{name}": f"{at}/privacy?focus={name}" for name in ("drinks", "occasions")}


def test_axe_finds_nothing_and_nothing_overflows_for_any_kind(browser: Browser, server: LiveServer) -> None:
    with watched(browser) as page:
        sign_in(page, server, "ines")
        for name, path in pages(server).items():
            page.goto(server.url + path)
            check_readable(page, f"kinds-{name}", narrowest=320)


def test_a_refused_scale_is_announced_linked_and_free_of_violations(
    designer: Page, server: LiveServer
) -> None:
    page = designer
    draft = make_draft(server.store, "Refused scale", FIRST)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new?kind=scale")
    page.get_by_label("Question", exact=True).fill("How?")
    page.get_by_label("Number of points").fill("12")
    page.get_by_role("button", name="Add the question").click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name="Number of points").click()
    field = page.get_by_label("Number of points")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    axe(page)


def test_a_scale_and_a_rule_are_written_without_javascript(browser: Browser, server: LiveServer) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    sign_in(page, server, "ines")
    draft = make_draft(server.store, "No script", FIRST)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new")
    page.get_by_label("Question", exact=True).fill("How often?")
    page.get_by_label("A point on a scale").check()
    page.get_by_role("button", name="Show the fields of this kind").click()
    page.get_by_label("Number of points").fill("5")
    page.get_by_role("button", name="Add the question").click()
    page.get_by_role("button", name="Yes or no").click()
    page.get_by_label("Question", exact=True).fill("And then?")
    page.get_by_label("Ask it").select_option(index=1)
    page.get_by_role("group", name="After these answers").get_by_label("Yes").check()
    page.get_by_role("button", name="Add the question").click()
    expect(page.get_by_text("Asked only after “Yes” to “Have you?”")).to_be_visible()
    page.get_by_role("link", name="Next: privacy and accuracy").click()
    expect(page.locator("[data-readout=total]")).to_have_text("3")
    context.close()


def test_a_question_is_edited_added_and_deleted_where_it_stands(designer: Page, server: LiveServer) -> None:
    page = designer
    draft = make_draft(server.store, "In place", QUESTION, {**QUESTION, "id": "q2", "text": "And you?"})
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.evaluate("document.body.dataset.same = 'yes'")
    page.get_by_role("link", name="Edit question 2").click()
    field = page.locator(".quick-edit").get_by_label("Question", exact=True)
    expect(field).to_be_focused()
    assert page.evaluate("document.body.dataset.same") == "yes", "the page stayed"
    field.fill("And your friends?")
    for width in (390, 320, 1280):
        resize(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe(page)
    page.get_by_role("button", name="Save").last.click()
    expect(page.locator(".question-card h3").nth(1)).to_have_text("And your friends?")
    page.get_by_role("link", name="Add a question after question 1").click()
    new = page.locator(".quick-add")
    expect(new.get_by_label("Question")).to_be_focused()
    new.get_by_label("Question").fill("How often?")
    new.get_by_role("button", name="A point on a scale").click()
    page.get_by_role("link", name="Edit question 2").click()
    expect(page.locator(".quick-edit").get_by_label("Question", exact=True)).to_have_value("How often?")
    page.locator(".quick-edit").get_by_label("Number of points").fill("11")
    page.locator(".quick-edit").get_by_label("First point").fill("0")
    page.get_by_role("button", name="Save").last.click()
    titles = page.locator(".question-card h3")
    expect(titles).to_have_text(["Have you?", "How often?", "And your friends?"])
    expect(page.locator(".question-card").nth(1)).to_contain_text("10")
    page.get_by_role("button", name="Delete question 2").click()
    expect(page.get_by_text("Question deleted. You can undo this.")).to_be_visible()
    page.get_by_role("button", name="Undo the last change").click()
    expect(titles).to_have_text(["Have you?", "How often?", "And your friends?"])
