"""What a format of output declares: one object each for the CLI, the pages and the export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Survey

    from hushpoll_analysis.results.rendering import Speech
    from hushpoll_analysis.results.survey import SurveyResults

Progress = Callable[[int], object]


def always() -> bool:
    """Return True: the format needs no optional library."""
    return True


@dataclass(frozen=True)
class ResultsFormat:
    """A format of the results of a survey: the estimates with all that belongs to them."""

    name: str
    """How `--format` calls it."""
    ending: str
    """The ending of a file's name, without the dot; the address of a download ends so too."""
    labels: Mapping[str, str]
    """What a link to it says, by language."""
    media_type: str
    write: Callable[[SurveyResults, str, Speech | None], str | bytes]
    """Return the text, or the bytes of a file that is none; takes the results, the reader's language and who says the
    details."""
    encoding: str = "utf-8"
    other_endings: tuple[str, ...] = ()
    """Endings that people use for it too."""
    translated: bool = False
    """Whether the text depends on the reader's language."""
    is_available: Callable[[], bool] = always
    """Whether the libraries that it needs are installed."""

    def label(self, language: str) -> str:
        """Return what a link says, in English if the language has no label."""
        return self.labels.get(language, self.labels["en"])

    def file_content(self, results: SurveyResults, language: str = "en", speech: Any = None) -> bytes:
        """Return the bytes of a file."""
        content = self.write(results, language, speech)
        if isinstance(content, bytes):
            return content
        return content.encode(self.encoding)


@dataclass(frozen=True)
class ReportRelease:
    """What a file of reports says of how they came: how many were released together, and how far writing is."""

    batch: float | None = None
    progress: Progress | None = None


@dataclass(frozen=True)
class ReportFormat:
    """A format of the randomized reports: one row each."""

    name: str
    ending: str
    write: Callable[[Survey, pd.DataFrame, Path, ReportRelease], None]
    is_available: Callable[[], bool] = always
    """Whether the libraries that it needs are installed."""

    @property
    def file_name(self) -> str:
        """The name of the file in an export."""
        return f"reports.{self.ending}"
