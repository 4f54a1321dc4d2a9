"""The warning about a survey that protects its respondents little: in the workspace, commands and the API."""

from __future__ import annotations

from hushpoll_client import Survey
from hushpoll_client.formatting import at_most
from hushpoll_client.survey.assurance import TIERS, assurance

__all__ = ["PROTECTS_LITTLE", "is_weak", "weakness"]

PROTECTS_LITTLE = "This survey protects its respondents little, and they are told so."


def is_weak(survey: Survey) -> bool:
    """Return whether the respondents' page says that a survey protects little."""
    return assurance(survey).tier == TIERS[-1]


def weakness(survey: Survey) -> str:
    """Return why a survey protects little; nothing where it does not."""
    promised = assurance(survey)
    if promised.tier != TIERS[-1]:
        return ""
    # Here, because most commands need no pages: it brings the web framework.
    from .fields import together
    from .i18n.translation import gettext as _
    from .i18n.translation import localize_number, ngettext

    factor = localize_number(at_most(float(promised.factor)))
    if not promised.weakest:
        return _(
            "All answers of one person together change the odds up to %(factor)s-fold (a total epsilon above 10).",
            factor=factor,
        )
    numbers = [str(number) for number in promised.weakest]
    about = {"list": together(numbers), "factor": factor}
    if promised.kept:
        return ngettext(
            "Question %(list)s changes the odds up to %(factor)s-fold: in at least %(kept)s of 100 cases what is sent"
            " is the answer.",
            "Questions %(list)s each change the odds up to %(factor)s-fold: in at least %(kept)s of 100 cases what is"
            " sent is the answer.",
            len(numbers),
            **about,
            kept=promised.kept,
        )
    return ngettext(
        "Question %(list)s changes the odds up to %(factor)s-fold.",
        "Questions %(list)s each change the odds up to %(factor)s-fold.",
        len(numbers),
        **about,
    )
