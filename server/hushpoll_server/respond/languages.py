"""The respondent's languages: the sentences that the page's script needs, and those of a poster.

The language is a matter of the page only: it is neither stored nor part of a report. To change a sentence, edit it
here or in a template, translate it into every language and pin it:

    python -m hushpoll_server.i18n.catalogues
    python hatch_build.py
    python -m hushpoll_server.respond.pin_sentences

The last command writes the sentences' SHA-256 into explain.js, which shows no other ones. A test fails while a sentence
is missing, fuzzy or not pinned in one of the languages.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache, partial
from typing import Any

from flask_babel import lazy_gettext
from hushpoll_client.survey.assurance import Assurance
from jinja2.utils import htmlsafe_json_dumps

from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.i18n.translation import direction, init_app, language

__all__ = [
    "GROUPS",
    "LANGUAGES",
    "LONG_LIST",
    "direction",
    "init_app",
    "language",
    "letter_words",
    "page_word",
    "poster_lead",
    "printed_words",
    "words_of",
]

LONG_LIST = 15
"""Lists with more options than this have a search."""


def words_of(group: str) -> str:
    """Return every sentence of a group as the page's scripts check it.

    The SHA-256 of the first group stands in explain.js, those of the others among the sentences of the first. All
    sentences of a group, whatever the survey asks: a text that depended on the survey could not be pinned.
    """
    return _words(language(), group)


@cache
def _words(_language: str, group: str) -> str:
    words: dict[str, Any] = {key: str(text) for key, text in GROUPS[group].items()}
    if group == "page":
        groups = {name: _words(_language, name) for name in GROUPS if name != group}
        words["pins"] = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in groups.items()}
    # Letters as they are: escaped, Arabic would weigh a kilobyte more.
    return htmlsafe_json_dumps(words, partial(json.dumps, ensure_ascii=False, separators=(",", ":")))


def page_word(key: str, otherwise: str) -> str:
    """Return one word of the page's, for the paper form."""
    return str(_RARE.get(key, otherwise))


_ = lazy_gettext
_STRINGS = {
    "yes": _("Yes"),
    "no": _("No"),
    "prefer_not": _("Prefer not to say"),
    # Before
    "lead": _("Chance changes some answers. From what is sent, no one can tell for certain what you chose."),
    "lead_fair": _("Chance changes some answers. What is sent can hint at what you chose."),
    "weak_kept": _("In at least {n} of 100 cases what is sent is your answer. This protects little."),
    "weak_any": _(
        "What is sent can be up to {n} times likelier from your answer than from another one. This protects little."
    ),
    "weak_total": _(
        "Together, your answers can change anyone’s odds about you by a factor of up to {n}. This protects little."
    ),
    "lead_open": _("For some answers what is sent shows what you chose. Read below which ones."),
    "label_who": _("Who can learn your answer"),
    "label_stored": _("What is stored"),
    "stored_short": _("What is sent, not your name."),
    "label_undo": _("What you cannot undo"),
    "undo_short": _("Pressing Send."),
    "question": _("Question {n}"),
    "questions": _("Questions {list}"),
    "odds_about": _("Of 100 who choose {chosen}, about {n} send {recorded}."),
    "odds_all": _("Of 100 who choose {chosen}, all 100 send {recorded}."),
    "odds_none": _("Of 100 who choose {chosen}, none sends {recorded}."),
    "odds_nearly_all": _("Of 100 who choose {chosen}, more than 99 send {recorded}."),
    "odds_nearly_none": _("Of 100 who choose {chosen}, fewer than 1 sends {recorded}."),
    "odds_range": _(
        "Of 100 people who choose one option, between {low} and {high} send that option, depending on which it is."
    ),
    "so_not": _("So a {option} that is sent does not mean you chose {option}."),
    "so_any": _("So an option that is sent need not be the one you chose."),
    "so_fair": _("So what is sent can hint at your answer, but does not prove it."),
    "so_weak": _("So what is sent can change anyone’s odds about your answer by a factor of up to {n}."),
    "reveals": _("A {option} does reveal your {option}."),
    "reveals_other": _("A {recorded} that is sent does reveal that you chose {options}."),
    "how_or": _(
        "Two questions, one result: this device sends {yes} if at least one of your two answers is {yes},"
        " and {no} if both are {no}."
    ),
    "reveals_both": _("It is sent only if both of your answers are {no}."),
    "then_mixed": _("Before it is sent, this result is mixed with chance as well."),
    "decoy_assumes": _(
        "These odds hold for someone who knows only that about {n} of 100 people answer {yes} to the"
        " second question."
    ),
    "decoy_known": _(
        "Someone who knows your answer to the second question can learn more, up to your own answer."
    ),
    "ledger": _("Surveys answered on this device before: {n}; with this one, epsilon adds up to {epsilon}."),
    "unbounded": _("unbounded"),
    "line_kept": _("About {n} in 100 answers are sent unchanged"),
    "line_how": _("How this answer is mixed"),
    "long_one": _("1 question, about {time}"),
    "long_many": _("{n} questions, about {time}"),
    "why": _("How it works"),
    "fingerprint": _("Fingerprint {start}"),
    "back": _("Back"),
    "start": _("Start"),
    "languages": _("Language"),
    "insecure": _(
        "This page came over an unencrypted connection. Someone on the network could read the mixed"
        " answers or change this page."
    ),
    # During
    "question_of": _("Question {n} of {total}"),
    "second": _("A second question. Your answer to it never leaves this device."),
    "send": _("Send"),
    "send_note": _(
        "Your answers have not left this device yet. When you press Send, they are mixed once, and only the"
        " result is sent."
    ),
    "open_one": _("One answer is still missing:"),
    "open_many": _("{n} answers are still missing:"),
    "open_here": _("Please choose an answer."),
    "no_memory": _(
        "This browser does not let the page store anything. Stay on this page until it says that your"
        " answers are sent."
    ),
    # After
    "sending": _("Sending…"),
    "sent": _("Sent"),
    "sent_text": _("The survey has received your mixed answers. Thank you."),
    "sent_stayed": _("This page has forgotten what you chose."),
    "sent_see": _("See exactly what was sent"),
    "recorded_as": _("Recorded as: {recorded}"),
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
        "The server refused the report as invalid. This is an error in the survey, not yours: please tell"
        " the person who sent you the link. The result is kept on this device."
    ),
    # Nothing to answer
    "fail_heading": _("This survey cannot be answered here"),
    "fail_nothing": _("Nothing was sent."),
    "fail_load": _("This could not be loaded. Check the connection, then try again."),
    "fail_gone": _("There is no survey at this address. Check the link."),
    "fail_changed": _(
        "What this server sent does not match the fingerprint in the link. Someone may have changed the"
        " survey: tell the person who sent you the link."
    ),
    "fail_cut": _("This link is incomplete. Copy the whole link, or ask for it again."),
    "fail_redirect": _(
        "A redirect brought you here and could have replaced your survey with another one. Open the whole link"
        " from your invitation directly."
    ),
    "fail_refused": _("This page refuses the survey: {reason}"),
    "fail_chance": _("This browser has no secure random numbers. Please use another browser."),
    "fail_page": _("This is an error in this page, not yours: please tell the person who sent you the link."),
    "closed": _("This survey is closed"),
    "results": _("See the results"),
}

# For previews, shared devices, groups, and second questions whose answers are sent in other ways than "one of them".
_RARE = {
    # What a report says that is not an answer, by the word for what the device does with two answers.
    "report_same_0": _("different"),
    "report_same_1": _("same"),
    "how_same": _(
        "Two questions, one result: this device sends only whether your two answers are the same or"
        " different."
    ),
    "how_pair": _(
        "Two questions, one result: chance on this device decides which of your two answers is sent,"
        " the first one in"
        " about {n} of 100 cases. No one learns which one it was."
    ),
    "preview": _("This is a preview. Nothing can be sent from here."),
    "counted_with": _("Your answers will be counted with: {group}"),
    "deletion": _("All reports are deleted on {date}."),
    "fail_group": _("This link names no group. Ask the person who sent it for the link of your group."),
    "kiosk_text": _("This device has stored nothing of your answers. You can pass it on."),
    "next": _("Next person"),
}

# For surveys with more than short lists that everybody is asked.
_KINDS = {
    "no_code": _("This link contains no invitation. To answer, open the link from your own invitation."),
    "code_spent": _(
        "This invitation is unknown here, or it has been used. If you used it yourself, your answers have arrived."
        " Otherwise ask the person who sent it."
    ),
    "skip": _(
        "“{skipped}” counts as one more option: people who are not asked this question send it, mixed with chance in"
        " the same way."
    ),
    "skip_label": _("does not apply"),
    "skip_so": _("So what is sent does not tell for certain whether you were asked."),
    "skip_more": _("Now also asked: {list}."),
    "skip_less": _("No longer asked: {list}."),
    "any_answer": _("What is sent could come from any answer; it is at most {n} times likelier from yours."),
    "sends_set": _("This device sends a set of {n} of the {total} options, drawn by chance."),
    "sends_asked": _(
        "This device draws {n} of the {total} options by chance and sends only which of these you ticked, mixed with"
        " chance."
    ),
    "block_how": _(
        "This device draws {n} of {total} questions by chance."
        " It sends openly which ones, and their answers together, mixed with chance."
    ),
    "sends_item": _("This device sends one option, drawn by chance, or a placeholder that is not an option."),
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
    "told_set": _("a set of {n} of {total} options"),
    "told_few": _("a set of {n} of {total} options: {list}"),
    "told_asked": _("asked about {list}; ticked: {ticked}"),
    "told_dummy": _("a placeholder that is not an option"),
    "told_code": _("the number {n}, which is not an answer"),
}

# For surveys that say who asks, or go step by step, or thank.
_PRESENTATION = {
    "who_asks": _("Who asks"),
    "contact": _("Contact"),
    "approval": _("Ethics approval"),
    "notice": _("Privacy notice"),
    "stop_any_time": _(
        "You can stop at any time before you press Send. What has been sent cannot be taken back."
    ),
    "consent_open": _("Please tick this to start."),
    "next_step": _("Next"),
    "review": _("Review before sending"),
    "change": _("Change"),
    "help_heading": _("If you want to talk to someone"),
    "exit": _("Leave this page"),
    "exit_key": _("Leave this page (Esc)"),
    "neutral": _("Page"),
}

# The whole explanation, pictures and “Try it”: fetched after the first view is painted.
_WHY = {
    "who_heading": _("Who could learn my own answer?"),
    "who": _("Who"),
    "what": _("What they could learn"),
    "who_owner": _("The survey’s owner"),
    "who_thief": _("Someone who breaks into the server"),
    "who_court": _("A court or an authority"),
    "who_decoy": _("Someone who knows your answer to a second question"),
    "who_code": _("The operator of this page, who could send changed code"),
    "who_device": _("Someone who controls this device"),
    "who_network": _("The network, such as your employer’s or your internet provider"),
    "only_mixed": _("Only the mixed answer"),
    "only_mixed_open": _("Only the mixed answer; see the exceptions above"),
    "maybe_own": _("Possibly your own answer"),
    "yes_own": _("Yes, your own answer"),
    "yes_part": _("That you take part"),
    "yes_code": _("Yes, your own answer. To check: “hushpoll verify”, or answer with the Python client."),
    "stored_heading": _("What is stored, and what is not"),
    "stored": _(
        "Stored: the mixed answers, and a random number from this device so that nothing is counted twice."
    ),
    "not_stored": _(
        "Not stored: what you chose, your name, the time, your network address, your browser. No cookies."
    ),
    "not_stored_weak": _(
        "Not stored: your name, the time, your network address, your browser. No cookies. What is stored"
        " can show what"
        " you chose."
    ),
    "stored_invitation": _(
        "Your invitation code waits with your answers until they are shuffled with those of others. Then it"
        " is deleted"
        " from them and counts as used."
    ),
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
    "conditional": _("unbounded; {epsilon} if no one knows your answer to the second question"),
    "conditional_too": _(
        "{epsilon} in any case; {conditional} if no one knows your answer to the second question"
    ),
    "know_hash": _("Fingerprint of the survey (SHA-256), computed on this device from what it received:"),
    "know_link": _(
        "The fingerprint of this survey begins with {start}. It equals the one in the address bar; compare these 8"
        " characters with your invitation."
    ),
    "know_no_link": _(
        "The fingerprint of this survey begins with {start}. Your link contains none; compare these 8 characters with"
        " your invitation."
    ),
    "know_scripts": _(
        "The scripts of this page with their SHA-256, to compare with the published source code:"
    ),
    "know_other": _(
        "You need not trust this page: the program “hushpoll answer” does the same from a terminal."
    ),
    "paper": _("Answer with coins or dice on paper"),
    "only_mixed_fair": _("The mixed answer, which can hint at your own"),
    "only_mixed_weak": _("The mixed answer, which can give your own away"),
    "withdraw": _("You can stop at any time before you press Send. What has been sent cannot be taken back."),
    "help_page": _("Read more in plain language (English)"),
    "in_chosen": _("If you choose an option, it is in what is sent in about {n} of 100 cases."),
    "in_other": _("If you do not choose it, in about {n} of 100 cases."),
    "bars": _("What 100 people send who choose {chosen}"),
    "bars_codes": _(
        "Codes are sent, not answers. Left: codes likelier from {low}. Right: codes likelier from {high}."
    ),
    "try": _("Try it"),
    "try_note": _("Only an example: it does not use your answer. Nothing here is sent or kept."),
    "try_choose": _("Tap an answer to see what ten people could send who choose it:"),
    "try_sent": _("Ten times, this would be sent:"),
    "try_codes": _("Ten times, these codes would be sent. A code is not an answer."),
    "try_both": _("{first}, second question {second}"),
}

GROUPS = {"page": _STRINGS, "kinds": _KINDS, "rare": _RARE, "presentation": _PRESENTATION, "why": _WHY}
"""Sentences by when they are needed: always, by some surveys, or when somebody asks."""

# What a poster says, by how much what is sent may show.
_POSTER = {
    "open": _(
        "Your answers are mixed on your own device before they are sent. Some can still be recognized from"
        " what is sent; the page says which before the first question."
    ),
    "strong": _(
        "Your answers are mixed with chance on your own device before they are sent. From what is sent, no one"
        " can tell for certain what you choose."
    ),
    "fair": _(
        "Your answers are mixed with chance on your own device before they are sent. What we receive can hint at what"
        " you choose."
    ),
    "weak": _(
        "Your answers are mixed with chance on your own device before they are sent, but only a little:"
        " what we receive"
        " can give away what you choose."
    ),
}

# What else stands on posters and slips, each before what it speaks of.
_PRINTED = {
    "for": _("For:"),
    "invited": _("To answer, open the link from your own invitation."),
    "compare": _("The page shows a fingerprint. Compare its first 8 characters:"),
    "whole": _("The whole fingerprint of the survey:"),
    "code": _("Code:"),
    "fingerprint": _("Fingerprint:"),
    "picture": _("QR code of the survey's link"),
}


# A letter of invitation to begin with; {link} and {fingerprint} are each person's own.
_LETTER = {
    "subject": _("Invitation: {title}"),
    "hello": _("Hello,"),
    "invited": _("you are invited to the survey “{title}”."),
    "link": _("Your own link; it works once:"),
    "explained": _(
        "What happens with your answers is explained before the first question. The page shows a fingerprint: its"
        " first 8 characters should be {fingerprint}."
    ),
}


def letter_words() -> dict[str, str]:
    """Return the words of a letter of invitation."""
    return {key: str(text) for key, text in _LETTER.items()}


def printed_words() -> dict[str, str]:
    """Return the words of posters and slips."""
    return {key: str(text) for key, text in _PRINTED.items()}


def poster_lead(promised: Assurance) -> str:
    """Return on a poster what may be promised of a survey."""
    return str(_POSTER["open" if promised.one_sided and promised.tier != "weak" else promised.tier])
