"""Questionnaires of other programs, read into a draft; what cannot be carried over is listed."""

from .draft import Imported
from .reading import read_questionnaire

__all__ = ["Imported", "read_questionnaire"]
