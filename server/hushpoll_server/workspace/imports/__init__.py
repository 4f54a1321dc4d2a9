"""Import of questionnaires of other programs; what a draft cannot hold is listed."""

from .draft import Imported, NothingImportedError
from .reading import read_questionnaire

__all__ = ["Imported", "NothingImportedError", "read_questionnaire"]
