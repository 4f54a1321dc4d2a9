"""The survey: its document, read part by part, and the hash that a respondent's link carries."""

from .block import Block
from .question import NOT_APPLICABLE, After, Question
from .survey import Anchor, Settings, Survey

__all__ = ["NOT_APPLICABLE", "After", "Anchor", "Block", "Question", "Settings", "Survey"]
