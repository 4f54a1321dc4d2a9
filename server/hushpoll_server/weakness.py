"""What is said of a survey that protects its respondents little: in the workspace, on the command line, to programs."""

from __future__ import annotations

from hushpoll_client import Survey
from hushpoll_client.assurance import TIERS, assurance
from hushpoll_client.words import at_most

__all__ = ["PROTECTS_LITTLE", "is_weak", "weakness"]

PROTECTS_LITTLE = "This survey protects its respondents little, and they are told so."


def is_weak(survey: Survey) -> bool:
    """Tell whether respondents are told that a survey protects little."""
    return assurance(survey).tier == TIERS[-1]


def weakness(survey: Survey) -> str:
    """Say why a survey protects little; nothing where it does not."""
    promised = assurance(survey)
    if promised.tier != TIERS[-1]:
        return ""
    factor = at_most(float(promised.factor))
    if not promised.weakest:
        return f"All answers of one person together change the odds up to {factor}-fold (a total epsilon above 10)."
    places = " and ".join(map(str, promised.weakest))
    kept = f": in at least {promised.kept} of 100 cases what is sent is the answer" if promised.kept else ""
    return f"Question {places} changes the odds up to {factor}-fold{kept}."
