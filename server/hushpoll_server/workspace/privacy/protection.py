"""What a report protects, in one sentence: how far it can improve a guess about one answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flask_babel import lazy_gettext as later
from hushpoll_client import Survey
from hushpoll_client.survey.assurance import TIERS, assurance

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import margin_text
from hushpoll_server.workspace.privacy.number_text import count_text
from hushpoll_server.workspace.privacy.question_plan import QuestionPlan

ONE_SIDED = "one_sided"
_TIER_WORDS = {
    "strong": later("strong"),
    "fair": later("fair"),
    "weak": later("weak"),
    ONE_SIDED: later("one-sided"),
}


@dataclass(frozen=True)
class Protection:
    """What one report can tell of its sender, at the survey's least protected answer."""

    tier: str
    """One of `TIERS`, or `ONE_SIDED` where a report can show an answer for certain."""
    guess: Fraction
    """The most that what is sent of one answer makes of a guess of 1/2; 1 where it can show the answer for certain."""
    guess_of_all: Fraction
    """The most that a whole report makes of it: answers can go together, and always do where a rule skips some."""
    total: float
    """One person's total epsilon."""

    @property
    def word(self) -> str:
        """The tier in the reader's language."""
        return str(_TIER_WORDS[self.tier])

    @property
    def guess_text(self) -> str:
        """The guess in percent, rounded up: never less than it can become."""
        return _percent_text(self.guess)

    @property
    def sentence(self) -> str:
        """What a report can do to a guess about one answer."""
        if self.tier == ONE_SIDED:
            return _("Some reports show an answer for certain.")
        if self.guess_of_all > self.guess:
            return _(
                "One sent answer can turn a 50 %% guess into at most %(guess)s %%, all together into %(all)s %%.",
                guess=self.guess_text,
                all=_percent_text(self.guess_of_all),
            )
        return _(
            "A report can improve a guess about one answer from 50 %% to at most %(guess)s %%.",
            guess=self.guess_text,
        )


def _percent_text(share: Fraction) -> str:
    percent = 100 * share
    digits = 0
    while percent < 100 and math.ceil(percent * 10**digits) >= 100 * 10**digits:
        digits += 1
    return localize_number(f"{math.ceil(percent * 10**digits) / 10**digits:.{digits}f}")


def protection_of(survey: Survey) -> Protection:
    """Return the protection that a compiled survey gives."""
    promised = assurance(survey)
    if promised.one_sided:
        return Protection(ONE_SIDED, Fraction(1), Fraction(1), math.inf)
    ratios = [entry.channel.ratio for entry in survey.entries if entry.channel.ratio is not None]
    worst, product = max(ratios), math.prod(ratios)
    return Protection(
        promised.tier, worst / (1 + worst), Fraction(product / (1 + product)), survey.epsilon_total
    )


def is_weaker(first: str, second: str) -> bool:
    """Return whether the first tier protects less than the second."""
    order = (*TIERS, ONE_SIDED)
    return order.index(first) > order.index(second)


def plan_sentence(draft: Draft, plans: Sequence[QuestionPlan], protection: Protection) -> str:
    """Return what the survey will be: how many people, how precise, how private."""
    least_precise = max(plans, key=lambda plan: plan.figures.margin / plan.margin_needed)
    return _(
        "About %(n)s people, %(margin)s: protection is %(tier)s.",
        n=count_text(draft.expected_n),
        margin=margin_text(least_precise.question, least_precise.figures.margin),
        tier=protection.word,
    )
