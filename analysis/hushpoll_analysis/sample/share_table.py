"""Results that are one share for each answer: found by label, and shown as a table."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import pandas as pd

from hushpoll_analysis.result import PlottedResult, flat
from hushpoll_analysis.sample.option_columns import YES_NO
from hushpoll_analysis.tidy import Tidy


class _Share(Protocol):
    @property
    def option(self) -> Any:
        """The answer's label."""

    def row(self) -> dict[str, Any]:
        """Return the row of a table."""


Share = TypeVar("Share", bound=_Share)


class ShareTable(Tidy, PlottedResult, Generic[Share]):
    """What such results have in common; `shares` are dataclasses with `option` and `shown`."""

    shares: tuple[Share, ...]

    def __getitem__(self, option: object) -> Share:
        """Return the share of an answer, by its label; No and Yes by their codes too."""
        codes: dict[Any, int] = {label: code for code, label in enumerate(YES_NO)}
        for share in self.shares:
            if option in (share.option, codes.get(share.option, share.option)):
                return share
        raise KeyError(option)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each answer."""
        return pd.DataFrame([flat(share.row()) for share in self.shares]).set_index("option")
