"""Closing: now, after a day, or at a number of reports. Nothing is deleted; late reports get 410."""

from __future__ import annotations

import datetime
import time
from typing import Any

from hushpoll_client import HushpollError
from hushpoll_client.messages import msg
from sqlalchemy import Connection, Row, func, select, update

from hushpoll_server.people.audit_log import note
from hushpoll_server.store.clock import clock
from hushpoll_server.store.schema import inbox, surveys
from hushpoll_server.store.surveys import SURVEY_STATE, Store, SurveyState, today, unknown_survey
from hushpoll_server.store.workspace_schema import keeping

from .accept import wait_for_storing
from .seal import seal_due

JUMP_SECONDS = 300
DISTRUST_SECONDS = 3600


def close(
    store: Store,
    survey_hash: str,
    on: datetime.date | None = None,
    at: int | None = None,
    *,
    actor: str | None = None,
    wait: bool = True,
) -> bool:
    """Close a survey now, or after the day `on`, or when it has `at` reports; False where it was closed before.

    Closing now is noted in the audit log under the name of the `actor`. It seals the reports that still wait; without
    `wait`, another node or a backup that is in the way leaves them to the server, a moment later.
    """
    _check_plan(on, at)
    with store.write() as tx:
        wait_for_storing(tx)
        row = tx.execute(select(surveys).where(surveys.c.hash == survey_hash)).one_or_none()
        if row is None:
            raise unknown_survey(survey_hash)
        if row.closed_on is not None or (_is_over(row) and (on is not None or at is not None)):
            return False
        values: dict[str, object] = {}
        if on is not None:
            values["closes_on"] = on
        if at is not None:
            values["closes_at"] = at
        if _is_reached(tx, row, at) or (on is None and at is None):
            values["closed_on"] = today()
        tx.execute(update(surveys).where(surveys.c.number == row.number).values(**values))
        if actor is not None and on is None and at is None:
            note(tx, actor, "closed", survey_hash, row.title)
    seal_due(store, wait)
    return True


def plan(store: Store, survey_hash: str, on: datetime.date | None = None, at: int | None = None) -> None:
    """Let an open survey close after the day `on`, at `at` reports or (neither) by hand, in place of an earlier plan.

    Nothing changes where the plan is refused. One whose last day is over is closed, also where the keeper has not
    looked yet.
    """
    _check_plan(on, at)
    with store.write() as tx:
        wait_for_storing(tx)
        row = tx.execute(select(surveys).where(surveys.c.hash == survey_hash)).one_or_none()
        if row is None or row.closed_on is not None or _is_over(row):
            raise HushpollError(
                msg("survey {survey!r} is not open", survey=survey_hash[:64]),
                "open it again on its page, or with hushpoll survey reopen",
            )
        closed_on = None
        if _is_reached(tx, row, at):
            closed_on = today()
        values = {"closes_on": on, "closes_at": at, "closed_on": closed_on}
        tx.execute(update(surveys).where(surveys.c.number == row.number).values(**values))
    seal_due(store, wait=False)


def _check_plan(on: datetime.date | None, at: int | None) -> None:
    if at is not None and at < 1:
        raise HushpollError(msg("cannot close at {at} reports", at=at), "give a whole number from 1")
    if on is not None and on < today():
        raise HushpollError(msg("{on} is over", on=on), "give today or a later day, or close now")


def _is_reached(tx: Connection, row: Row[Any], at: int | None) -> bool:
    """Return whether a survey has as many reports as it is to close at."""
    if at is None:
        return False
    waiting = tx.execute(select(func.count()).where(inbox.c.survey == row.number)).scalar_one()
    return bool(row.sealed_n + waiting >= at)


def _is_over(row: Row[Any]) -> bool:
    """Return whether a survey's last day is over; only `reopen` gives it a later one."""
    return row.closes_on is not None and row.closes_on < today()


def reopen(store: Store, survey_hash: str) -> bool:
    """Open a closed survey again, without a day or a number; False where it is open.

    What was sealed at closing stays. When it closes again with few new reports, sealed ones keep them company: nothing
    tells which rows are new, though totals from before and after differ by these few. Left in the inbox they would stay
    linked to their invitations by the key.
    """
    with store.write() as tx:
        row = tx.execute(select(*SURVEY_STATE).where(surveys.c.hash == survey_hash)).one_or_none()
        if row is None:
            raise unknown_survey(survey_hash)
        if SurveyState.of(row).is_open:
            return False
        deleted = select(keeping.c.deleted_on).where(keeping.c.hash == survey_hash)
        if (day := tx.execute(deleted).scalar()) is not None:
            # Its page, its links and the log say that there are no reports of it any more.
            raise HushpollError(
                msg("the reports of this survey were deleted on {day}", day=day),
                "publish it as a new survey",
            )
        tx.execute(
            update(surveys)
            .where(surveys.c.number == row.number)
            .values(closed_on=None, closes_on=None, closes_at=None, reopened=True)
        )
    return True


class Steadiness:
    """Notices that the clock of the machine jumps, by another one that only counts seconds.

    A dated survey must not be closed by a glitch: for an hour after a jump nothing is closed by its date.
    """

    def __init__(self) -> None:
        self._ahead = clock.now() - time.monotonic()
        self._trusted_from = 0.0
        self._since = time.monotonic()

    def is_steady(self) -> bool:
        """Look at both clocks."""
        now = time.monotonic()
        ahead = clock.now() - now
        if abs(ahead - self._ahead) > JUMP_SECONDS:
            self._trusted_from = now + DISTRUST_SECONDS
            self._since = now
        self._ahead = ahead
        return now >= self._trusted_from

    def seconds(self) -> float:
        """Return for how long no jump was seen: since the start of the server at most."""
        return time.monotonic() - self._since


def close_due(store: Store) -> None:
    """Close the surveys whose last day is over; for the keeper alone, who knows whether the clock can be believed."""
    over = (surveys.c.closed_on.is_(None), surveys.c.closes_on < today())
    with store.read() as tx:
        if tx.execute(select(surveys.c.number).where(*over)).first() is None:
            return
    with store.write() as tx:
        wait_for_storing(tx)
        tx.execute(update(surveys).where(*over).values(closed_on=today()))
