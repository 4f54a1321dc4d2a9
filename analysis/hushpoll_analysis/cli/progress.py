"""What a terminal shows while a channel is searched for."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def searching() -> Iterator[None]:
    """Show on a terminal how much of a search's gap is closed; print nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from hushpoll_analysis.planning.optimal import watched

    with _Bar() as bar, watched(bar.told):
        yield


class _Bar(ExitStack):
    """A bar that is there from the first search on, and begins anew with each."""

    _bar: Any = None

    def told(self, gap: float) -> None:
        """Move on to the gap that remains."""
        from tqdm import tqdm

        from hushpoll_analysis.planning.optimal.program import GAP

        if self._bar is None:
            shape = "{desc} {percentage:3.0f} % |{bar}|"
            self._bar = self.enter_context(
                tqdm(total=100, desc="Closing the gap", bar_format=shape, leave=False)
            )
        # The gap shrinks by orders of magnitude: its logarithm moves evenly.
        share = math.log10(min(max(gap, GAP), 1.0)) / math.log10(GAP)
        if share == 0.0:
            self._bar.reset()
        self._bar.update(max(0.0, 100.0 * share - self._bar.n))
