"""The promise made to the respondent: what is randomized, how, and exactly how private that is.

Standard library only. Start at `channel/`, the one idea; then `mechanism/`, `kind/`, `survey/`, `delivery/`.
"""

from . import mechanism as mechanisms
from .channel import SCALE, Channel
from .delivery.report import Report, asked_questions, draw_ranks, read_answers
from .errors import (
    ChannelError,
    DocumentError,
    HushpollError,
    MechanismError,
    ReportError,
    SubmitError,
    SurveyError,
)
from .mechanism import Mechanism
from .randomize import draw, randomize
from .survey import Question, Survey
from .survey.block import Block

__all__ = [
    "SCALE",
    "Block",
    "Channel",
    "ChannelError",
    "DocumentError",
    "HushpollError",
    "Mechanism",
    "MechanismError",
    "Question",
    "Report",
    "ReportError",
    "SubmitError",
    "Survey",
    "SurveyError",
    "__version__",
    "asked_questions",
    "draw",
    "draw_ranks",
    "mechanisms",
    "randomize",
    "read_answers",
]


def __getattr__(name: str) -> str:
    """Return the version of the installed package as `__version__`; finding it takes time, and few ask."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hushpoll")
    except PackageNotFoundError:
        return "0+unknown"
