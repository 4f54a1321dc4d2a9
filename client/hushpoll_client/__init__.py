"""The promise made to the respondent: what is randomized, how, and exactly how private that is.

Standard library only. Start at `channel/`, the one idea; then `mechanism/`, `kind/`, `survey.py`, `randomize.py`.
"""

from . import mechanism as mechanisms
from .block import Block
from .channel import SCALE, Channel
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
from .report import Report, asked_questions, draw_ranks, read_answers
from .survey import Question, Survey

__version__ = "0.1.0"
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
