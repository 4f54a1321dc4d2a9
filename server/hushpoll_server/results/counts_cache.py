"""Counts for a results page: those stored while sealing, or else made by a scan and handed over to be stored.

Results that take more than counts are made by a scan too, and kept in memory.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from cachetools import FIFOCache
from hushpoll_client import Survey
from hushpoll_client.survey.group import FIELD

from hushpoll_server.collect.pending_counts import PendingCounts, add_pending
from hushpoll_server.store.counts import ALONE, Place, keep_pairs, read_counts
from hushpoll_server.store.surveys import Store, SurveyState

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults
    from hushpoll_analysis.sample.tally import Tally

__all__ = ["CountsCache", "ResultsCache"]

MOST_SCANNED = 64
"""CountsCache in memory that no kept counts give."""
MOST_RESULTS = 256
"""Results in memory that take more than counts: a survey has up to a hundred pictures."""

log = logging.getLogger(__name__)


class CountsCache:
    """Counts of surveys, as many as a report needs; a page must not cost a scan each time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scanned: FIFOCache[tuple[str, str | None], tuple[int, Tally]] = FIFOCache(MOST_SCANNED)

    def get(self, store: Store, survey: Survey, by: str | None, keep: bool = False) -> Tally:
        """Return the counts of the sealed reports, by a question or by group; reading seals and writes nothing.

        Two questions that were not asked for before are counted by a scan. With `keep`, maintenance stores their counts
        soon afterwards, and sealing adds to them from then on.
        """
        stored = _stored_tally(store, survey, by)
        if stored is not None:
            return stored
        # One scan at a time: ten readers who arrive together wait for the first one's counts.
        with self._lock:
            return _stored_tally(store, survey, by) or self._scan(store, survey, by, keep)

    def _scan(self, store: Store, survey: Survey, by: str | None, keep: bool) -> Tally:
        from hushpoll_analysis.sample.files import tally

        state, key = _state(store, survey), (survey.hash, by)
        scanned = self._scanned.get(key)
        if scanned is None or scanned[0] != state.sealed_n:
            counted = tally(survey, store.record_parts(survey.hash), by, fewest=state.display_threshold)
            scanned = self._scanned[key] = (state.sealed_n, counted)
        if keep and by is not None and by != FIELD:
            _hand_over(store, survey, scanned[1])
        return scanned[1]


class ResultsCache:
    """Results that are made by reading every report: once, for all readers, until something changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Reading it changes no order, so that readers need no lock.
        self._results: FIFOCache[Hashable, SurveyResults] = FIFOCache(MOST_RESULTS)

    def get(self, key: Hashable, make: Callable[[], SurveyResults]) -> SurveyResults:
        """Return the results of everything that the key names; one reader at a time makes some."""
        results = self._results.get(key)
        if results is not None:
            return results
        with self._lock:
            results = self._results.get(key)
            if results is None:
                results = self._results[key] = make()
            return results


def _state(store: Store, survey: Survey) -> SurveyState:
    state = store.state(survey.hash)
    assert state is not None
    return state


def _stored_tally(store: Store, survey: Survey, by: str | None) -> Tally | None:
    """Make a tally of what is kept; None where these two questions are not, or where counts are missing."""
    from hushpoll_analysis.sample.stored_tally import tally_from_counts

    second = None if by == FIELD and survey.groups else by
    if second:
        entry_ids = {entry_id for _, entry_id in keep_pairs(survey, second)}
    else:
        entry_ids = set()
    if second and not entry_ids:
        return None
    state = _state(store, survey)
    with store.read() as tx:
        counts, sealed = read_counts(tx, state.number, [ALONE, *([second] if second else [])])
    groups: dict[int, dict[str, Sequence[int]]] = {}
    joint = {}
    for key, cells in counts.items():
        if key.by:
            joint[key.part] = cells
        else:
            groups.setdefault(key.grp, {})[key.part] = cells
    if groups and set(joint) != entry_ids:
        return None
    tally = tally_from_counts(survey, groups, by, joint, state.display_threshold)
    if tally.n != sealed:
        # An older version may have sealed beside this one while it was replaced.
        log.error("counts of survey %s are not kept for all its reports: see `hushpoll check`", survey.hash)
        return None
    return tally


def _hand_over(store: Store, survey: Survey, counted: Tally) -> None:
    """Let maintenance store the counts of two questions together."""
    assert counted.by is not None
    pairs = keep_pairs(survey, counted.by)
    cells = {Place(0, by, entry_id): counted.joint[entry_id].reshape(-1).tolist() for by, entry_id in pairs}
    add_pending(store, _state(store, survey).number, counted.by, PendingCounts(counted.n, cells))
