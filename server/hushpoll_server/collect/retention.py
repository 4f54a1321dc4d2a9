"""Retention: on its day every report of a survey is deleted, and the audit log keeps a receipt.

The survey's text stays, so that its links can say what became of it. The keyed hashes of report ids stay too: they
hold nothing of a report, and a device that sends again gets the right answer. Addresses that invitations were sent to
are deleted when a survey closes.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from hushpoll_client import HushpollError
from hushpoll_client.messages import msg
from sqlalchemy import delete, func, insert, select, text, update

from hushpoll_server.people.audit_log import Detail, note
from hushpoll_server.store.counts import forget_counts
from hushpoll_server.store.schema import inbox, invitations, sealed, seen, spent, surveys
from hushpoll_server.store.surveys import Store, SurveyState, today, unknown_survey
from hushpoll_server.store.workspace_schema import audit_log, keeping, mailings, server_state

from .closing import close
from .scrubbing import ADDRESSES, DELETED, INBOX, mark, scrub
from .seal import seal_due

__all__ = [
    "Keeping",
    "delete_due",
    "delete_reports",
    "is_day_believed",
    "keeping_of",
    "may_delete",
    "set_day",
    "set_embeddable",
]

BELIEVED = datetime.timedelta(days=7)
"""How far beyond the last day that a server ran its clock is believed at once."""
STEADY_SECONDS = 24 * 3600
"""For how long it has to go on steadily where it is further ahead."""
NEXT_DAY = datetime.timedelta(days=1)
DELETION_SECONDS = 3600
"""For how long the clock has to go on steadily before reports are deleted by it."""
_DAY, _DELETION_DAY = "last day believed", "last day of deletions"
_KEEP_DAY = text(
    "INSERT INTO server_state (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
)


@dataclass(frozen=True)
class Keeping:
    """What the owner of a survey has said about keeping it."""

    embeddable: bool = False
    delete_on: datetime.date | None = None
    deleted_on: datetime.date | None = None


def keeping_of(store: Store, survey_hash: str) -> Keeping:
    """Return what was said of a survey."""
    columns = (keeping.c.embeddable, keeping.c.delete_on, keeping.c.deleted_on)
    with store.read() as tx:
        row = tx.execute(select(*columns).where(keeping.c.hash == survey_hash)).one_or_none()
    if row is None:
        return Keeping()
    return Keeping(*row)


def _change_setting(
    store: Store, survey_hash: str, actor: str, action: str, detail: Detail, **values: object
) -> None:
    with store.write() as tx:
        if not tx.execute(update(keeping).where(keeping.c.hash == survey_hash).values(**values)).rowcount:
            tx.execute(insert(keeping).values(hash=survey_hash, **values))
        note(tx, actor, action, survey_hash, detail)


def set_day(store: Store, survey_hash: str, day: datetime.date | None, actor: str) -> None:
    """Set the day on which all reports are deleted, or (None) take it back."""
    if day is not None and day <= today():
        raise HushpollError(msg("{day} is not in the future", day=day), "choose a later day")
    if keeping_of(store, survey_hash).deleted_on is not None:
        raise HushpollError("the reports of this survey are deleted already", "there is nothing to plan")
    if day is None:
        detail = Detail("never")
    else:
        detail = Detail("on", day=day.isoformat())
    _change_setting(store, survey_hash, actor, "deletion planned", detail, delete_on=day)


def set_embeddable(store: Store, survey_hash: str, allowed: bool, actor: str) -> None:
    """Let other sites show the public results in a frame, or not."""
    _change_setting(
        store, survey_hash, actor, "embedding", Detail("allowed" if allowed else "ended"), embeddable=allowed
    )


def delete_reports(store: Store, survey_hash: str, actor: str) -> int:
    """Close a survey, delete every report and invitation of it, write the receipt, and give the number of reports."""
    if not close(store, survey_hash):
        seal_due(store)  # its closing may have been cut off
    state = store.state(survey_hash)
    if state is None:
        raise unknown_survey(survey_hash)
    with store.write() as tx:
        reports = codes = 0
        # What could not be sealed is remembered all the same: a device that sends it again is told the truth.
        waits = select(inbox.c.survey, inbox.c.digest).where(inbox.c.survey == state.number)
        tx.execute(insert(seen).from_select([seen.c.survey, seen.c.digest], waits))
        for table in (sealed, inbox):
            reports += tx.execute(delete(table).where(table.c.survey == state.number)).rowcount
        for table in (spent, invitations):
            codes = tx.execute(delete(table).where(table.c.survey == state.number)).rowcount
        tx.execute(delete(mailings).where(mailings.c.hash == survey_hash))
        forget_counts(tx, state.number)
        tx.execute(update(surveys).where(surveys.c.number == state.number).values(sealed_n=0))
        values = {"deleted_on": today(), "delete_on": None}
        if not tx.execute(update(keeping).where(keeping.c.hash == survey_hash).values(**values)).rowcount:
            tx.execute(insert(keeping).values(hash=survey_hash, **values))
        receipt = Detail("deleted", title=state.title, reports=reports, invitations=codes)
        assert not _left(tx, state)
        note(tx, actor, "reports deleted", survey_hash, receipt)
        # What was deleted must not stay readable in SQLite's log, nor as dead rows of PostgreSQL.
        for left in (INBOX, DELETED):
            mark(tx, left)
    store.database.truncate_wal()
    scrub(store)
    return reports


def _left(tx: object, state: SurveyState) -> int:
    tables = (sealed, inbox)
    queries = [select(func.count()).where(table.c.survey == state.number) for table in tables]
    return sum(tx.execute(query).scalar_one() for query in queries)  # type: ignore[attr-defined]


def is_day_believed(store: Store, steady_seconds: float) -> bool:
    """Return whether the clock is trusted enough to act on planned dates; if so, store its day.

    A server that starts with a clock that is ahead sees no jump. Its day is trusted if it is close to the last trusted
    day, or after the clock has run steadily for a day, in which an operator can correct it.
    """
    return _is_believed(store, _DAY, BELIEVED, steady_seconds)


def may_delete(store: Store, steady_seconds: float) -> bool:
    """Return whether the clock is trusted enough to delete reports, which cannot be undone.

    It must have run steadily for an hour, in which a machine that booted with a wrong clock sets it; for a day if its
    day is more than one later than the last trusted day.
    """
    if steady_seconds < DELETION_SECONDS and not _is_kept(store, _DELETION_DAY):
        return False
    return _is_believed(store, _DELETION_DAY, NEXT_DAY, steady_seconds)


def _is_kept(store: Store, name: str) -> bool:
    with store.read() as tx:
        stored_day = tx.execute(select(server_state.c.value).where(server_state.c.name == name)).scalar()
    return stored_day == str(today())


def _is_believed(store: Store, name: str, at_once: datetime.timedelta, steady_seconds: float) -> bool:
    """Keep today under this name, unless it is too far from the day before and the clock was not steady for long."""
    day = today()
    with store.read() as tx:
        stored_day = tx.execute(select(server_state.c.value).where(server_state.c.name == name)).scalar()
        # An older version kept none; whoever planned a deletion is in the log.
        noted = None
        if not stored_day:
            noted = tx.execute(select(func.max(audit_log.c.at))).scalar()
    if stored_day == str(day):
        return True
    last = day
    if stored_day:
        last = datetime.date.fromisoformat(stored_day)
    elif noted:
        last = _day_of(noted)
    if day > last + at_once and steady_seconds < STEADY_SECONDS:
        return False
    with store.write() as tx:
        tx.execute(_KEEP_DAY, {"name": name, "value": str(day)})
    return True


def _day_of(at: int) -> datetime.date:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).date()


def delete_due(store: Store, reports: bool = True) -> None:
    """Delete the reports that are due today, unless the day is not believed, and the addresses of closed surveys."""
    over = surveys.c.closed_on.is_not(None)
    with store.read() as tx:
        due = tx.execute(select(keeping.c.hash).where(keeping.c.delete_on <= today())).scalars().all()
        closed = select(mailings.c.hash).join(surveys, surveys.c.hash == mailings.c.hash).where(over)
        finished = tx.execute(closed).scalars().all()
    for survey_hash in due if reports else ():
        delete_reports(store, survey_hash, "retention")
    if finished:
        with store.write() as tx:
            tx.execute(delete(mailings).where(mailings.c.hash.in_(finished)))
            mark(tx, ADDRESSES)
        store.database.truncate_wal()
