"""Ready surveys on sensitive topics, to be copied and changed.

The wording follows what survey research advises for sensitive behaviour: name a period, name the behaviour plainly
and without blame, and offer "Prefer not to say" where not answering is itself meaningful. Decoy questions must be
unrelated to the topic, with a share of Yes that is known from elsewhere: each template says that the share is to be
replaced by one known for the people asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask_babel import LazyString
from flask_babel import lazy_gettext as later

from hushpoll_server.i18n.translation import gettext, language
from hushpoll_server.workspace.kinds import PREFER_NOT


@dataclass(frozen=True)
class Template:
    """One ready survey with the plan that suits it."""

    topic: LazyString
    summary: LazyString
    why: LazyString
    expected_n: int
    margin: float
    epsilon: str
    """The epsilon of every question."""
    survey: dict[str, Any]
    """The survey document, without epsilons."""
    linked: tuple[str, ...] = ()
    """Questions with a named mechanism whose epsilon follows the slider all the same."""

    @property
    def document(self) -> dict[str, Any]:
        """The survey document."""
        questions = [
            {**question, "mechanism": {**question["mechanism"], "epsilon": self.epsilon}}
            for question in self.survey["questions"]
        ]
        return {**self.survey, "questions": questions}

    @property
    def plan(self) -> dict[str, Any]:
        """The plan, as `storage.create` takes it."""
        return {
            "expected_n": self.expected_n,
            "margin": self.margin,
            "epsilon": self.epsilon,
            "linked": self.linked,
        }


def _yes_no(name: str, text: str, *, prefer_not: bool = False) -> dict[str, Any]:
    if prefer_not:
        return _choice(name, text, ["No", "Yes"])
    return {"id": name, "kind": "yes_no", "text": text, "mechanism": {}}


def _choice(name: str, text: str, options: list[str]) -> dict[str, Any]:
    return {"id": name, "kind": "choice", "text": text, "options": [*options, PREFER_NOT], "mechanism": {}}


def _or_poll(name: str, text: str, decoy: str, share: str) -> dict[str, Any]:
    mechanism = {"name": "or_poll", "decoy": decoy, "decoy_share": share}
    return {"id": name, "kind": "yes_no", "text": text, "mechanism": mechanism}


def _scale(name: str, text: str, points: int, labels: list[str], target: str) -> dict[str, Any]:
    shape = {"id": name, "kind": "scale", "text": text, "points": points, "labels": labels}
    return {**shape, "mechanism": {"target": target}}


def _number(name: str, text: str, high: str, unit: str) -> dict[str, Any]:
    shape = {"id": name, "kind": "number", "text": text, "min": "0", "max": high, "step": "1", "unit": unit}
    return {**shape, "mechanism": {"target": "mean"}}


def _ticks(name: str, text: str, options: list[str], at_most: int) -> dict[str, Any]:
    shape = {"id": name, "kind": "multiple", "text": text, "options": options, "at_most": at_most}
    return {**shape, "mechanism": {}}


def _asked_after(question: dict[str, Any], decider: str, answers: list[str]) -> dict[str, Any]:
    return {**question, "after": {"question": decider, "answers": answers}}


def _survey(
    title: str, intro: str, questions: list[dict[str, Any]], *, invitation: bool = False
) -> dict[str, Any]:
    settings = {"kiosk": False, "invitation": invitation}
    return {"hushpoll": 1, "title": title, "intro": intro, "questions": questions, "settings": settings}


_TEXTS: set[str] = set()
# Keys whose values are names and not texts.
_NAMES = ("id", "question", "kind", "name")


def noted(text: str) -> str:
    """Mark a text of a template for translation."""
    _TEXTS.add(text)
    return text


TEMPLATES: dict[str, Template] = {
    "exam": Template(
        topic=later("Cheating in an exam"),
        summary=later(
            "How many used unauthorised help, and what pushed them to it. For a course of a few hundred students."
        ),
        why=later(
            "Two questions at a moderate epsilon: the share is what a teacher acts on, the reason tells how."
        ),
        expected_n=400,
        margin=0.09,
        epsilon="2",
        survey=_survey(
            noted("Exam honesty"),
            noted(
                "Two short questions about the last exam. They show what to change in this"
                " course, and are not about individuals."
            ),
            [
                _yes_no(
                    "unauthorised_help",
                    noted("In the last exam of this course, did you use any help that was not allowed?"),
                ),
                _choice(
                    "reason",
                    noted(
                        "If someone used help that was not allowed, what do you think was the main reason?"
                    ),
                    [
                        noted("Too little time to prepare"),
                        noted("Fear of failing"),
                        noted("Others did it too"),
                        noted("The rules were unclear"),
                    ],
                ),
            ],
        ),
    ),
    "tax": Template(
        topic=later("Undeclared income"),
        summary=later(
            "The share of people who left income out of their tax return. For a survey of the public."
        ),
        why=later(
            "A harmless second question, and a coin on top: people follow it easily, and the coin gives a finite"
            " epsilon even to an onlooker who knows the answer to the harmless question."
        ),
        expected_n=2000,
        margin=0.05,
        epsilon="1.4",
        survey=_survey(
            noted("Income and taxes"),
            noted(
                "One question about tax returns and one that has nothing to do with them. Your"
                " device combines both answers, and then changes some results at random."
            ),
            [
                _or_poll(
                    "undeclared",
                    noted(
                        "In your last tax return, did you leave out any income that you knew should be declared?"
                    ),
                    noted("Is your mother's birthday in January, February or March?"),
                    "0.25",
                )
            ],
        ),
        linked=("undeclared",),
    ),
    "drugs": Template(
        topic=later("Drug use"),
        summary=later(
            "Use of cannabis and of other illegal drugs in the past twelve months. For a school, club or city."
        ),
        why=later(
            "A low epsilon, because an answer could have legal consequences; it takes more respondents."
        ),
        expected_n=3000,
        margin=0.06,
        epsilon="0.7",
        survey=_survey(
            noted("Drugs in the past twelve months"),
            noted("Two questions. The results help to plan advice and treatment."),
            [
                _yes_no("cannabis", noted("In the past 12 months, have you used cannabis?")),
                _yes_no(
                    "other_drugs",
                    noted(
                        "In the past 12 months, have you used any other illegal drug (for example cocaine, ecstasy or"
                        " speed)?"
                    ),
                ),
            ],
        ),
    ),
    "harassment": Template(
        topic=later("Harassment at work"),
        summary=later("Whether people were harassed, whether they told anyone, and how safe telling feels."),
        why=later(
            "Not answering is itself meaningful here, so every question offers it inside the randomized set."
        ),
        expected_n=900,
        margin=0.08,
        epsilon="1.4",
        survey=_survey(
            noted("Respect at work"),
            noted(
                "Three questions about the past twelve months at this workplace. Harassment"
                " means unwanted remarks, touching, threats or pressure, in person or in"
                " writing. If you need help now, please turn to someone you trust: this survey"
                " cannot answer you."
            ),
            [
                _yes_no(
                    "experienced",
                    noted("In the past 12 months, have you been harassed at this workplace?"),
                    prefer_not=True,
                ),
                _yes_no(
                    "witnessed",
                    noted(
                        "In the past 12 months, have you seen or heard someone else being harassed"
                        " at this workplace?"
                    ),
                    prefer_not=True,
                ),
                _choice(
                    "reporting",
                    noted("If it happened to you tomorrow, would you report it here?"),
                    [noted("Yes, without hesitation"), noted("Yes, but with worries"), "No"],
                ),
            ],
            invitation=True,
        ),
    ),
    "alcohol": Template(
        topic=later("Alcohol and stress"),
        summary=later(
            "How often, how much, on which occasions, and whether people tried to cut down. For a company or a"
            " university."
        ),
        why=later(
            "Every kind of answer in one survey: a scale, a number, ticks, and a question that"
            " only some people are asked. A report does not show who was asked it."
        ),
        expected_n=6000,
        margin=0.1,
        epsilon="0.7",
        survey=_survey(
            noted("Alcohol in everyday life"),
            noted(
                "Five questions about the past four weeks. The results help to plan advice and relief. If you want help"
                " now, your doctor or a local advice centre is there for you."
            ),
            [
                _scale(
                    "stress",
                    noted("In the past 4 weeks, how stressed were you by your work or studies?"),
                    5,
                    [noted("Not at all"), noted("Extremely")],
                    "cumulative",
                ),
                _number(
                    "drinks",
                    noted("In the past 4 weeks, how many alcoholic drinks did you have in a typical week?"),
                    "40",
                    noted("drinks"),
                ),
                _ticks(
                    "occasions",
                    noted("In the past 4 weeks, on which of these occasions did you drink?"),
                    [
                        noted("With meals"),
                        noted("With friends"),
                        noted("At work or on campus"),
                        noted("Alone at home"),
                        noted("To fall asleep"),
                    ],
                    2,
                ),
                _yes_no(
                    "too_much", noted("In the past 4 weeks, did you ever drink more than you wanted to?")
                ),
                _asked_after(
                    _yes_no("cut_down", noted("Have you tried to drink less since then?")),
                    "too_much",
                    ["Yes"],
                ),
            ],
        ),
    ),
    "vote": Template(
        topic=later("How people will vote"),
        summary=later(
            "Vote intention among a few parties, where saying it openly can cost a friend or a job."
        ),
        why=later(
            "One question at a higher epsilon: with five options each share needs more accuracy, and it is the"
            " only question a person answers."
        ),
        expected_n=2500,
        margin=0.04,
        epsilon="2",
        survey=_survey(
            noted("If there were an election on Sunday"),
            noted("One question. Replace the parties by those on your ballot before you publish."),
            [
                _choice(
                    "vote",
                    noted("If there were a general election next Sunday, which party would you vote for?"),
                    [
                        noted("Party A"),
                        noted("Party B"),
                        noted("Party C"),
                        noted("Another party"),
                        noted("I would not vote"),
                    ],
                )
            ],
        ),
    ),
    "health": Template(
        topic=later("Mental health"),
        summary=later(
            "Thoughts of self-harm and whether people know where to get help. For a university or a company."
        ),
        why=later(
            "A very low epsilon on the most sensitive question is worth more honesty than it costs in accuracy."
        ),
        expected_n=3000,
        margin=0.06,
        epsilon="0.7",
        survey=_survey(
            noted("How are you?"),
            noted(
                "Two questions about the past twelve months. Answers are changed at random"
                " before they are sent, so no one can react to them: if you are in danger now,"
                " please call your local emergency number or a crisis line."
            ),
            [
                _yes_no(
                    "thoughts",
                    noted("In the past 12 months, have you thought seriously about harming yourself?"),
                ),
                _yes_no("knows_help", noted("Do you know where you could get help within a week?")),
            ],
        ),
    ),
}


def document_of(key: str) -> dict[str, Any]:
    """Return a fresh copy of a template's document, in the designer's language."""
    document: dict[str, Any] = _translated(TEMPLATES[key].document)
    if language() == "en":
        return document
    return {**document, "language": language()}


def _translated(texts: Any) -> Any:
    """Return a value with all texts of templates translated; other values are unchanged."""
    if isinstance(texts, dict):
        return {name: value if name in _NAMES else _translated(value) for name, value in texts.items()}
    if isinstance(texts, list):
        return [_translated(value) for value in texts]
    if texts in _TEXTS:
        return gettext(texts)
    return texts
