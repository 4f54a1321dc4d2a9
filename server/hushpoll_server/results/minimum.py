"""The rule of all results: below the minimum of reports nothing is given out but their number."""

from __future__ import annotations

from hushpoll_client import HushpollError
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.messages import msg, plural

from hushpoll_server.store.surveys import SurveyState

MINIMUM = FEWEST_REPORTS


def refuse_small_export(state: SurveyState) -> None:
    """Raise HushpollError where a survey has fewer sealed reports than results are shown from.

    An export of one report is that person's report, with whatever the invitation says about who that is.
    """
    if state.sealed_n >= MINIMUM:
        return
    if state.sealed_n == 0:
        problem = msg("no export: no report is counted, and it takes {minimum}", minimum=MINIMUM)
    else:
        problem = plural(
            state.sealed_n,
            "no export: {count} report is fewer than the minimum of {minimum}",
            "no export: {count} reports are fewer than the minimum of {minimum}",
            minimum=MINIMUM,
        )
    raise HushpollError(problem)
