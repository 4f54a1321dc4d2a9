"""Questionnaires of other programs, read into a draft; what cannot be carried over is listed."""

from .draft import Imported, NothingImportedError
from .reading import read_questionnaire

__all__ = ["Imported", "NothingImportedError", "read_questionnaire"]
