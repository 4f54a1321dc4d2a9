"""Surveys and their sealed reports."""

from __future__ import annotations

import datetime
import hmac
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

from hushpoll_client import HushpollError, Survey, SurveyError
from hushpoll_client.delivery.link import SHORT
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.fields import refuse_hidden
from hushpoll_client.messages import msg
from hushpoll_client.survey.group import check_sizes
from hushpoll_client.survey.series import MOST_WAVES, changed_question
from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from hushpoll_server.config import Config

from . import key
from .clock import today as today
from .counts import sealed_parts
from .database import Database
from .inbox_cipher import InboxCipher
from .schema import inbox, surveys


class ReportWriter(Protocol):
    """The object that stores reports for a process."""

    def submit(self, reports: Sequence[Any]) -> list[Any]:
        """Store reports of one survey, all or none; returns when they are on the disk."""

    def stop(self) -> None:
        """Store what waits, then end."""


# The cap of the day of publishing counted; lowering it later must not make old surveys unreadable.
_ANY_EPSILON = "80"


@dataclass(frozen=True)
class SurveyState:
    """What may change about a published survey; everything else is in its document."""

    number: int
    hash: str
    title: str
    owner: str | None
    published_on: datetime.date
    closes_on: datetime.date | None
    closes_at: int | None
    closed_on: datetime.date | None
    reopened: bool
    results_public: bool
    results_live: bool
    released_on: datetime.date | None
    target_n: int | None
    minimum_batch: int
    sealed_n: int
    previous: str | None
    populations: str | None

    @classmethod
    def of(cls, row: Any) -> SurveyState:
        """Read a row of `SURVEY_STATE` (and more columns after it)."""
        return cls(*row[: len(SURVEY_STATE)])

    @property
    def is_open(self) -> bool:
        """Whether reports are taken today (closing at a number of reports sets `closed_on` when it is reached)."""
        return self.closed_on is None and (self.closes_on is None or today() <= self.closes_on)

    @property
    def was_closed(self) -> bool:
        """Whether it was closed for good, so that all its reports may be released.

        A last day that is over takes no more reports; the survey is closed by the keeper, where the clock was steady.
        A page that is opened while the clock is wrong must not release what waits.
        """
        return self.closed_on is not None

    def group_sizes(self, survey: Survey) -> dict[str, int] | None:
        """Return how many people each group has; None where that was not stated."""
        listed = []
        if self.populations:
            listed = json.loads(self.populations)
        if listed:
            return dict(zip(survey.groups, listed, strict=True))
        return None

    @property
    def display_threshold(self) -> int:
        """The number of reports from which a group is shown: a batch, and never fewer than estimates need."""
        return max(FEWEST_REPORTS, self.minimum_batch)

    @property
    def min_distinguishable_batch(self) -> float:
        """The smallest batch of reports whose effect on the results a reader can see; infinite if none shows.

        A survey that was opened again may have closed with a single report more.
        """
        if self.reopened:
            return 1
        if self.was_closed and not self.results_live:
            return math.inf
        return self.minimum_batch

    @property
    def is_public(self) -> bool:
        """Whether the results are public now; before a survey closes, only if its owner chose that."""
        return self.results_public and (self.results_live or self.was_closed)

    @property
    def state(self) -> str:
        """One word for lists."""
        return "open" if self.is_open else "closed"


SURVEY_STATE = [column for column in surveys.c if column.name != "document"]


@dataclass(frozen=True)
class Published:
    """A survey as this server keeps it in memory: immutable, hence never stale."""

    number: int
    survey: Survey
    format: RecordFormat
    asks_invitation: bool


class Store:
    """Everything that the server keeps, on one database."""

    def __init__(self, config: Config, make_writer: Callable[[Store], ReportWriter] | None = None) -> None:
        self.config = config
        self._make_writer = make_writer
        self.secret = config.secret()
        self.waiting = InboxCipher(self.secret)
        self.database = Database(config.url)
        self.engine = self.database.engine
        self.read = self.database.read
        self.write = self.database.write
        self._published: dict[str, Published] = {}

    @cached_property
    def writer(self) -> ReportWriter:
        """The one thread of this process that stores reports; started when first asked for, after a fork."""
        if self._make_writer is None:
            raise HushpollError("this process accepts no reports", "send them to the server")
        return self._make_writer(self)

    def close(self) -> None:
        """Stop the writer, give the connections back."""
        if "writer" in self.__dict__:
            self.writer.stop()
        self.database.close()

    # Surveys ----------------------------------------------------------------------------------------------------

    def publish(
        self,
        survey: Survey,
        owner: str | None = None,
        *,
        target_n: int | None = None,
        results_public: bool = False,
        results_live: bool = False,
        minimum_batch: int | None = None,
    ) -> bool:
        """Keep a survey under its hash; False where it was published before (nothing changes then)."""
        plan = {
            "target_n": target_n,
            "results_public": results_public or results_live,
            "results_live": results_live,
            "minimum_batch": minimum_batch,
        }
        with self.write() as tx:
            return self.publish_within(tx, survey, owner, **plan)

    def publish_within(
        self,
        tx: Connection,
        survey: Survey,
        owner: str | None,
        minimum_batch: int | None = None,
        **values: Any,
    ) -> bool:
        """Write it in the transaction of something that must stand or fall with it."""
        survey.check_cap(self.config.epsilon_cap)
        if self._row(tx, survey.hash) is not None:
            return False
        refuse_hidden(survey.document)
        same = surveys.c.hash.startswith(survey.hash[:SHORT])
        if tx.execute(select(surveys.c.number).where(same)).first() is not None:
            raise HushpollError(
                "another survey here has the same short address",
                "change a word of the introduction, then publish",
            )
        if survey.series is not None:
            self.check_wave(survey)
            values["previous"] = survey.series.previous
        tx.execute(
            insert(surveys).values(
                hash=survey.hash,
                document=survey.canonical,
                title=survey.title,
                owner=owner,
                published_on=today(),
                minimum_batch=minimum_batch or self.config.seal_at_least,
                **values,
            )
        )
        return True

    def check_wave(self, survey: Survey) -> None:
        """Refuse a wave whose predecessor is not here, is not the one before, or asked something else."""
        assert survey.series is not None
        before, here = self.get_survey(survey.series.previous), ("series", "previous")
        if before is None:
            raise SurveyError(here, "is not a survey of this server", "publish the wave before here first")
        wave = 1
        if before.series is not None:
            wave = before.series.wave
        if survey.series.wave != wave + 1:
            raise SurveyError(
                ("series", "wave"),
                msg("does not follow wave {wave}", wave=wave),
                msg("write {next}", next=wave + 1),
            )
        changed = changed_question(before, survey)
        if changed:
            raise SurveyError(
                ("series",),
                msg("a wave asks the same questions again, but {changed}", changed=changed),
                "change it back, or publish it as a separate survey, without a series",
            )

    def waves(self, survey_hash: str) -> list[SurveyState]:
        """Return all waves of the series that a survey belongs to, in their order; a survey alone is one wave."""
        waves = []
        if state := self.state(survey_hash):
            waves = [state]
        while waves and waves[0].previous is not None and len(waves) < MOST_WAVES:
            earlier = self.state(waves[0].previous)
            if earlier is None:
                break
            waves.insert(0, earlier)
        while waves and len(waves) < MOST_WAVES:
            query = (
                select(*SURVEY_STATE).where(surveys.c.previous == waves[-1].hash).order_by(surveys.c.number)
            )
            with self.read() as tx:
                later = tx.execute(query).first()
            if later is None:
                break
            waves.append(SurveyState.of(later))
        return waves

    def published(self, survey_hash: str) -> Published | None:
        """Return the survey with its number and record format, from memory where possible."""
        published = self._published.get(survey_hash)
        if published is not None or not is_hash(survey_hash):
            return published
        query = select(surveys.c.number, surveys.c.document).where(surveys.c.hash == survey_hash)
        with self.read() as tx:
            row = tx.execute(query).one_or_none()
        if row is None:
            return None
        survey = Survey.from_published(bytes(row.document), expected_hash=survey_hash, cap=_ANY_EPSILON)
        self._published[survey_hash] = published = Published(
            row.number, survey, RecordFormat.of(survey), survey.settings.invitation
        )
        return published

    def get_survey(self, survey_hash: str) -> Survey | None:
        """Return the published survey; None where this server has none of that hash."""
        published = self.published(survey_hash)
        if published is None:
            return None
        return published.survey

    def state(self, survey_hash: str) -> SurveyState | None:
        """Open or closed, owner, dates, numbers."""
        if not is_hash(survey_hash):
            return None
        with self.read() as tx:
            row = self._row(tx, survey_hash)
        if row is None:
            return None
        return SurveyState.of(row)

    def list_surveys(self, owner: str | None = None) -> list[SurveyState]:
        """Return all surveys, or those of one owner, the newest first."""
        query = select(*SURVEY_STATE).order_by(surveys.c.number.desc())
        if owner is not None:
            query = query.where(surveys.c.owner == owner)
        with self.read() as tx:
            return [SurveyState.of(row) for row in tx.execute(query).all()]

    def set_results_public(self, survey_hash: str, public: bool, live: bool = False) -> None:
        """Publish the results when the survey is closed, or also `live`, or keep them to accounts with access."""
        self._update(survey_hash, results_public=public, results_live=public and live)

    def set_group_sizes(self, survey_hash: str, sizes: Mapping[str, int] | None) -> None:
        """Keep how many people each group of a survey has, or forget it."""
        survey = self.get_survey(survey_hash)
        if survey is None:
            raise unknown_survey(survey_hash)
        listed = None
        if sizes is not None:
            listed = json.dumps(check_sizes(survey.groups, sizes))
        self._update(survey_hash, populations=listed)

    def _update(self, survey_hash: str, **values: object) -> None:
        with self.write() as tx:
            changed = tx.execute(update(surveys).where(surveys.c.hash == survey_hash).values(**values))
            if not changed.rowcount:
                raise unknown_survey(survey_hash)

    @staticmethod
    def _row(tx: Connection, survey_hash: str) -> Row[Any] | None:
        return tx.execute(select(*SURVEY_STATE).where(surveys.c.hash == survey_hash)).one_or_none()

    # Reports ----------------------------------------------------------------------------------------------------

    def count(self, survey_hash: str) -> int:
        """Count the reports received: sealed and waiting."""
        waiting = select(func.count()).where(inbox.c.survey == surveys.c.number).scalar_subquery()
        with self.read() as tx:
            total = tx.execute(
                select(surveys.c.sealed_n + waiting).where(surveys.c.hash == survey_hash)
            ).scalar()
        if total is None:
            raise unknown_survey(survey_hash)
        return int(total)

    def sealed_count(self, survey_hash: str) -> int:
        """Count the reports that estimates and exports may read."""
        state = self.state(survey_hash)
        if state is None:
            raise unknown_survey(survey_hash)
        return state.sealed_n

    def record_format(self, survey_hash: str) -> RecordFormat:
        """Return how the bytes of records are to be read: `numpy.frombuffer(records, format.dtype)`."""
        published = self.published(survey_hash)
        if published is None:
            raise unknown_survey(survey_hash)
        return published.format

    def record_parts(self, survey_hash: str, rows: int = 50_000) -> Iterator[bytes]:
        """Yield the sealed records of a survey in parts of at most `rows`, in an order that says nothing.

        `collect.seal.read_sealed` seals first what is due.
        """
        published = self.published(survey_hash)
        if published is None:
            raise unknown_survey(survey_hash)
        with self.read() as tx:
            self.database.allow_pauses(tx)
            yield from sealed_parts(tx, published.number, rows)

    def id_digest(self, survey_hash: str, report_id: bytes) -> bytes:
        """Return the keyed hash that is stored for a report's id: useless without the key."""
        # A copy goes on from where the key and the survey were read: half the work of beginning anew.
        mine = _keyed(self.secret, survey_hash).copy()
        mine.update(report_id)
        return mine.digest()[:16]


@lru_cache(maxsize=1024)
def _keyed(secret: bytes, survey_hash: str) -> hmac.HMAC:
    return hmac.new(secret, b"seen:" + bytes.fromhex(survey_hash), "sha256")


def open_store(config: Config | None = None, *, new_key: bool = False) -> Store:
    """Open the store for a command: make the folder, bring the tables up to date, compare the keys."""
    config = config or Config.from_environment()
    config.make_folder()
    try:
        return _open(config, new_key)
    except (DBAPIError, OSError) as error:
        setting = "DATABASE_URL"
        if not config.database_url:
            setting = f"DATA={config.data}"
        if isinstance(error, OSError):
            why = error.strerror
        else:
            why = type(error.orig).__name__
        raise HushpollError(
            msg("{place}: the database cannot be opened ({why})", place=setting, why=why),
            "check that it runs and may be written",
        ) from None


def _open(config: Config, new_key: bool) -> Store:
    from .migrations import upgrade
    from .restore import refuse_half_restored

    if not new_key:
        key.refuse_to_replace(config)
    store = Store(config)
    try:
        refuse_half_restored(store.database)
        if not new_key:
            key.refuse_another(config, store.secret, store.database)
        upgrade(store.database)
        if new_key:
            key.forget(store.database)
            _drop_unreadable(store)
        key.check(config, store.secret, store.database)
        # A migration may have left what it wrote over in SQLite's log.
        store.database.truncate_wal()
    except BaseException:
        store.close()
        raise
    return store


def _drop_unreadable(store: Store) -> None:
    """Let go of reports that a lost key locked. Their invitations are not spent: devices may send them again."""
    with store.write() as tx:
        for row in tx.execute(select(inbox)).all():
            if store.waiting.open(row.survey, bytes(row.digest), bytes(row.box)) is None:
                tx.execute(delete(inbox).where(inbox.c.survey == row.survey, inbox.c.digest == row.digest))


def is_hash(text: str) -> bool:
    """Return whether this can be the hash of a survey."""
    return len(text) == 64 and all(digit in "0123456789abcdef" for digit in text)


def unknown_survey(survey_hash: str) -> HushpollError:
    """Make the error for a hash that this server does not know."""
    return HushpollError(
        msg("survey {survey!r} is not known here", survey=survey_hash[:64]), "see `hushpoll survey list`"
    )
