"""The respondent's languages: which one to speak, and the sentences that the page's script needs.

The language is a matter of the page only: it is neither stored nor part of a report. To change a sentence, edit it
here or in a template and then run, in this folder (see translations/babel.cfg):

    pybabel extract -F translations/babel.cfg -k lazy_gettext --add-location=file -o messages.pot .
    pybabel update -N --ignore-obsolete -w 110 -i messages.pot -d translations && rm messages.pot
    pybabel compile -d translations

A test fails while a sentence is missing, left over, fuzzy or not compiled in one of the languages.
"""

from __future__ import annotations

import re

from flask import Flask, request
from flask_babel import Babel, get_locale, lazy_gettext
from hushpoll_client import Survey
from hushpoll_client.kind import KINDS

__all__ = ["LANGUAGES", "LONG_LIST", "direction", "init_app", "language", "page_strings", "page_word"]

# Each language in its own words, for the list on the page.
LANGUAGES = {"en": "English", "fr": "Français", "de": "Deutsch", "es": "Español", "ar": "العربية"}

LONG_LIST = 15
"""Lists with more options than this have a search."""


def init_app(app: Flask) -> Babel:
    """Make an application speak the respondent's language."""
    app.config.setdefault("BABEL_TRANSLATION_DIRECTORIES", "respond/translations")
    return Babel(app, default_locale="en", locale_selector=_select)


def _select() -> str:
    """Take ?lang= if it is ours, else what the browser asks for, else English; the workspace is English."""
    if not (request.blueprint or "").startswith("respond"):
        return "en"
    asked = request.args.get("lang", "")
    return asked if asked in LANGUAGES else request.accept_languages.best_match(LANGUAGES) or "en"


def language() -> str:
    """Give the language of this response."""
    locale = get_locale()
    return str(locale.language) if locale else "en"


def direction() -> str:
    """Give the writing direction of this response's language."""
    return "rtl" if language() == "ar" else "ltr"


def page_strings(survey: Survey) -> dict[str, str]:
    """Give every sentence that the page's script shows for a survey, in the language of this response."""
    combined = {question.mechanism.combine for question in survey.questions}
    unused = _PARTS - _used_parts(survey)
    return {
        key: str(text)
        for key, text in _STRINGS.items()
        if key.partition("_")[0] not in unused
        and ((about := _COMBINED.fullmatch(key)) is None or about[1] in combined)
    }


def _used_parts(survey: Survey) -> set[str]:
    """Tell which sentences that only some surveys need this one does, by how their names begin."""
    questions = survey.questions
    used = {question.kind.widget for question in questions}
    if any(len(question.options) > LONG_LIST for question in questions):
        used.add("search")
    if any(question.after for question in questions):
        used.add("skip")
    if not all(question.mechanism.reports_are_answers for question in questions):
        used |= {"sends", "told"}
    return used


def page_word(key: str, otherwise: str) -> str:
    """Give one word of the page's, for the paper form."""
    return str(_STRINGS.get(key, otherwise))


# What names of sentences begin with that only some surveys need: the widgets of kinds, and what _used_parts adds.
_PARTS = {*(kind.widget for kind in KINDS.values()), "search", "sends", "skip", "told"}
# Sentences about two answers that the device combines: only those of the survey's own mechanisms are sent.
_COMBINED = re.compile(r"(?:how|report)_([a-z]+)(?:_[0-9]+)?")
_ = lazy_gettext
_STRINGS = {
    "yes": _("Yes"),
    "no": _("No"),
    # What a report says that is no answer, by the word for what the device does with two answers.
    "report_same_0": _("different"),
    "report_same_1": _("same"),
    # Before
    "lead": _(
        "Your answers are mixed with chance on this device before they are sent."
        " Nobody, including us, receives what you actually chose."
    ),
    "lead_open": _(
        "Your answers are mixed on this device before they are sent. For some answers what is sent"
        " still shows what"
        " you chose: read below which ones."
    ),
    "question": _("Question {n}"),
    "questions": _("Questions {list}"),
    "odds_about": _("Of 100 people who choose {chosen}, about {n} are recorded as {recorded}."),
    "odds_all": _("Of 100 people who choose {chosen}, all 100 are recorded as {recorded}."),
    "odds_none": _("Of 100 people who choose {chosen}, none is recorded as {recorded}."),
    "odds_nearly_all": _("Of 100 people who choose {chosen}, more than 99 are recorded as {recorded}."),
    "odds_nearly_none": _("Of 100 people who choose {chosen}, fewer than 1 is recorded as {recorded}."),
    "odds_any": _(
        "Of 100 people who choose any one option, about {n} are recorded as that option."
        " The other {rest} are spread evenly over the {others} other options."
    ),
    "odds_range": _(
        "Of 100 people who choose one option, between {low} and {high} are recorded as that option,"
        " depending on which it is."
    ),
    "any_answer": _("What is sent could come from any answer; it is at most {n} times likelier from yours."),
    "sends_set": _("This device sends a set of {n} of the {total} options, drawn by chance."),
    "sends_asked": _(
        "This device draws {n} of the {total} options by chance and sends only which of these you ticked, mixed with"
        " chance."
    ),
    "sends_item": _("This device sends one option, drawn by chance, or a placeholder that is no option."),
    "skip": _(
        "“{skipped}” counts as one more option: people who are not asked this question send it, mixed with chance in"
        " the same way."
    ),
    "skip_label": _("does not apply"),
    "skip_so": _("So what is sent does not tell for certain whether you were asked."),
    "so_not": _("So a recorded {option} does not mean you chose {option}."),
    "so_any": _("So a recorded option does not mean you chose it."),
    "reveals": _("A {option} does reveal your {option}."),
    "reveals_other": _("A recorded {recorded} does reveal that you chose {options}."),
    "how_or": _(
        "Two questions, one result: this device sends {yes} if at least one of your two answers is {yes},"
        " and {no} if both are {no}."
    ),
    "reveals_both": _("It is sent only if both of your answers are {no}."),
    "how_same": _(
        "Two questions, one result: this device sends only whether your two answers are the same or"
        " different."
    ),
    "how_pair": _(
        "Two questions, one result: chance on this device decides which of your two answers is sent,"
        " the first one in"
        " about {n} of 100 cases. Nobody learns which one it was."
    ),
    "then_mixed": _("Before it is sent, this result is mixed with chance as well."),
    "decoy_assumes": _(
        "These odds hold for someone who knows only that about {n} of 100 people answer {yes} to the"
        " second question."
    ),
    "decoy_known": _(
        "Someone who knows your answer to the second question can learn more, up to your own answer."
    ),
    "icons": _("100 people who choose {chosen}: {n} recorded as {recorded}, {rest} as {other}."),
    "icons_any": _(
        "100 people who choose the same option: {n} recorded as that option, {rest} as another one."
    ),
    "who_heading": _("Who could learn my own answer?"),
    "who": _("Who"),
    "what": _("What they could learn"),
    "who_owner": _("The survey’s owner"),
    "who_thief": _("Someone who breaks into the server"),
    "who_court": _("A court or an authority"),
    "who_decoy": _("Someone who knows your answer to a second question"),
    "who_device": _("Someone who controls this device"),
    "only_mixed": _("Only the mixed answer"),
    "only_mixed_open": _("Only the mixed answer; see the exceptions above"),
    "maybe_own": _("Possibly your own answer"),
    "yes_own": _("Yes, your own answer"),
    "stored_heading": _("What is stored, and what is not"),
    "stored": _(
        "Stored: the mixed answers, and a random number from this device so that nothing is counted twice."
    ),
    "not_stored": _(
        "Not stored: what you chose, your name, the time, your network address, your browser. No cookies."
    ),
    "stored_invitation": _("Your invitation code is marked as used. It is not kept with your answers."),
    "know_heading": _("How we know"),
    "know_epsilon": _(
        "Privacy loss of the whole survey (total epsilon): {epsilon}. Whatever odds someone gave to"
        " your answers before,"
        " all your mixed answers together change them by a factor of {factor} at most."
    ),
    "know_open": _(
        "Privacy loss of the whole survey (total epsilon): unbounded, because of {list}. All other"
        " questions together: {epsilon}."
    ),
    "know_only_open": _("Privacy loss of the whole survey (total epsilon): unbounded, because of {list}."),
    "question_word": _("Question"),
    "method": _("Method"),
    "epsilon": _("Epsilon"),
    "unbounded": _("unbounded"),
    "conditional": _(
        "unbounded; {epsilon} on condition that nobody knows your answer to the second question"
    ),
    "conditional_too": _(
        "{epsilon} in any case; {conditional} on condition that nobody knows your answer to the second"
        " question"
    ),
    "know_hash": _("Fingerprint of the survey (SHA-256), computed on this device from what it received:"),
    "know_link": _("It equals the fingerprint in your link."),
    "know_no_link": _("Your link carries no fingerprint to compare it with."),
    "know_scripts": _(
        "The scripts of this page with their SHA-256, to compare with the published source code:"
    ),
    "know_other": _(
        "You need not trust this page: the program “hushpoll answer” does the same from a terminal."
    ),
    "paper": _("Answer with coins or dice on paper"),
    "start": _("Start"),
    "languages": _("Language"),
    "insecure": _(
        "This page came over an unencrypted connection. Someone on the network could read the mixed"
        " answers or change this page."
    ),
    "preview": _("This is a preview. Nothing can be sent from here."),
    # During
    "question_of": _("Question {n} of {total}"),
    "second": _("Second question, for this device only"),
    "send": _("Send"),
    "send_note": _(
        "None of your answers has left this device so far. When you press Send, your answers are mixed"
        " once and"
        " only the result is sent."
    ),
    "explain_again": _("Back to the explanation"),
    "open_one": _("One answer is still missing:"),
    "open_many": _("{n} answers are still missing:"),
    "open_here": _("Please choose an answer."),
    "skip_more": _("Now also asked: {list}."),
    "skip_less": _("No longer asked: {list}."),
    "number_whole": _("A whole number from {min} to {max}"),
    "number_steps": _("A number from {min} to {max}, in steps of {step}"),
    "number_off_whole": _("Please write a whole number from {min} to {max}."),
    "number_off_steps": _("Please write a number from {min} to {max}, in steps of {step}."),
    "ticks_any": _("Tick all that apply."),
    "ticks_at_most": _("Tick at most {n}."),
    "ticks_none": _("None of these"),
    "ticks_open": _("Please tick what applies, or “{none}”."),
    "ticks_over": _("{n} are ticked. Please tick at most {most}."),
    "search_label": _("Search in {total} options"),
    "search_found": _("{n} of {total} options shown"),
    "search_nothing": _("No option matches. Try other words."),
    "search_chosen": _("Chosen: {list}"),
    "no_code": _("This link carries no invitation. To answer, open the link from your own invitation."),
    "no_memory": _(
        "This browser does not let the page keep anything. Stay on this page until it says that your"
        " answers are sent."
    ),
    # After
    "sending": _("Sending…"),
    "sent": _("Sent"),
    "sent_text": _("The survey has received your mixed answers. Thank you."),
    "sent_stayed": _("What you chose has stayed on this device, and this page has forgotten it."),
    "sent_see": _("See exactly what was sent"),
    "recorded_as": _("Recorded as: {recorded}"),
    "told_set": _("a set of {n} of {total} options"),
    "told_few": _("a set of {n} of {total} options: {list}"),
    "told_asked": _("asked about {list}; ticked: {ticked}"),
    "told_dummy": _("a placeholder that is no option"),
    "waiting": _("Not sent yet"),
    "waiting_text": _(
        "Your answers are mixed already, and the result waits on this device. It will be sent as it"
        " is; nothing is mixed a second time."
    ),
    "resend": _("Send now"),
    "clear": _("Clear this device"),
    "clear_text": _(
        "This removes the mixed answers from this device. If they have reached the server, answering again would"
        " count you twice, and two reports tell more about you than one."
    ),
    "cleared": _("This device is cleared."),
    "kiosk_text": _("This device has kept nothing. You can hand it on."),
    "next": _("Next person"),
    "was_offline": _(
        "There is no connection. The result is kept on this device and will be sent when the"
        " connection is back."
    ),
    "was_busy": _(
        "The server is busy. The result is kept on this device; the next attempt is in {n} seconds."
    ),
    "was_closed": _("This survey is closed. Your answers were not stored."),
    "was_uninvited": _(
        "This survey needs an invitation that has not been used yet. Your answers were not stored."
        " Open the link from your"
        " invitation on this device; the result is kept here."
    ),
    "was_unknown": _(
        "This server does not know the survey. Check the link; the result is kept on this device."
    ),
    "was_other": _(
        "The server already holds another report with the same number. Nothing was changed there."
    ),
    "was_refused": _(
        "The server refused the report as invalid. This is a fault of the survey, not yours: please"
        " tell whoever sent you"
        " the link. The result is kept on this device."
    ),
    # Nothing to answer
    "fail_heading": _("This survey cannot be answered here"),
    "fail_nothing": _("Nothing was sent."),
    "fail_load": _("The survey could not be loaded. Check the connection, then load this page again."),
    "fail_gone": _("There is no survey at this address. Check the link."),
    "fail_changed": _(
        "What this server sent does not match the fingerprint in the link. Someone may have changed"
        " the survey:"
        " tell whoever sent you the link."
    ),
    "fail_refused": _("This page refuses the survey: {reason}"),
    "fail_chance": _("This browser has no safe source of chance. Please use another browser."),
    "fail_page": _("This is a fault of this page, not yours: please tell whoever sent you the link."),
    "closed": _("This survey is closed"),
}
