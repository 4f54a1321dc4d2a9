"""A survey's whole life in any order: whatever is done, the store equals a model that is a few lines of Python.

Hypothesis draws the steps (create, publish, invite, submit, replay, tamper, seal, close, export, backup, restore,
crash) and, where one fails, the shortest way there. Export is the command itself; some crashes are failures inside a
commit, others kill a process that is storing reports.
"""

from __future__ import annotations

import csv
import io
import itertools
import logging
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from flask import Flask
from hushpoll_client import HushpollError, Report, Survey
from hushpoll_client.cli import main
from hushpoll_server import create_app
from hushpoll_server.collect import closing, invitations, seal
from hushpoll_server.collect.report_writer import Writer
from hushpoll_server.config import Config
from hushpoll_server.results import minimum
from hushpoll_server.store import backup
from hushpoll_server.store.restore import restore_backup
from hushpoll_server.store.surveys import Store, open_store
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.serving import Postgres, make_survey, post, used_codes

from . import doomed
from .crowd import fresh_report, recognised, stored
from .places import BACKENDS, database

MINIMUM = 5
# A backup with its restore, or another process, costs as much as all steps in between.
STEPS_BETWEEN_BACKUPS = 20
STEPS_BETWEEN_KILLS = 15
KINDS = (
    "create",
    "publish",
    "invite",
    "submit",
    "replay",
    "tamper",
    "seal",
    "close",
    "export",
    "back_up_and_restore",
    "crash",
    "kill",
)
# A survey is created, published and answered: with fewer kinds of steps nothing was tried.
FEWEST_KINDS = 3


@dataclass
class SurveyModel:
    """What the store should have of a survey."""

    survey: Survey
    open: bool = True
    codes: list[str] = field(default_factory=list)
    used_codes: set[str] = field(default_factory=set)
    # Acknowledged reports with the code of each, in no order.
    acknowledged: dict[str, tuple[Report, str | None]] = field(default_factory=dict)
    sealed: int = 0

    @property
    def is_by_invitation(self) -> bool:
        """Whether a report needs a code."""
        return self.survey.settings.invitation

    @property
    def free(self) -> list[str]:
        """The unused codes."""
        return [code for code in self.codes if code not in self.used_codes]

    def take(self, report: Report, code: str | None) -> None:
        """Note an acknowledged report."""
        self.acknowledged[report.id] = (report, code)
        if code:
            self.used_codes.add(code)


def takes_reports(model: SurveyModel) -> bool:
    """Return whether a new report would be stored."""
    return model.open and (not model.is_by_invitation or bool(model.free))


def run_command(config: Config, *arguments: str) -> None:
    """Run `hushpoll` as a terminal does."""
    environment = {
        "DATA": str(config.data),
        "DATABASE_URL": config.database_url,
        "SECRET_KEY_FILE": config.secret_key_file,
    }
    status: Any = 0
    with mock.patch.dict(os.environ, environment), redirect_stdout(io.StringIO()):
        try:
            main(list(arguments))
        except SystemExit as end:
            status = end.code
    assert not status, f"hushpoll {arguments[0]} ended with status {status}"


class Life(RuleBasedStateMachine):
    """The store and a model of it, changed by the same steps and compared after each."""

    backend = "sqlite"
    cluster: Postgres | None = None
    steps: ClassVar[Counter[str]] = Counter()
    numbers = itertools.count()
    tell: Callable[[str], None] = staticmethod(lambda _: None)

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="machine")
        self.home = Path(self.folder.name)
        self.database = database(self.backend, self.cluster)
        self.config = Config(
            data=self.home / "data", database_url=self.database.__enter__(), seal_every=86_400, testing=True
        )
        self.extra: list[Any] = []
        self.drafts: list[Survey] = []
        self.models: list[SurveyModel] = []
        self.since_backup = self.since_kill = 0
        self.start()

    def start(self) -> None:
        """Start a server on whatever is in the database."""
        open_store(self.config).close()
        self.app: Flask = create_app(self.config)
        self.store: Store = self.app.extensions["hushpoll"]

    def teardown(self) -> None:
        self.store.close()
        for opened in [self.database, *self.extra]:
            opened.__exit__(None, None, None)
        self.folder.cleanup()

    def pick(self, at: int, fits: Callable[[SurveyModel], bool] = lambda model: True) -> SurveyModel:
        """One of the published surveys that fit."""
        among = [model for model in self.models if fits(model)]
        return among[at % len(among)]

    def took(self, step: str) -> None:
        """Count a step."""
        self.steps[step] += 1
        self.since_backup += 1
        self.since_kill += 1
        self.tell(step)

    def send(self, model: SurveyModel, report: Report, code: str | None) -> int:
        """Send a report as a device does."""
        status: int = post(self.app.test_client(), model.survey, report.to_bytes(code)).status_code
        return status

    @rule(invited=st.booleans())
    def create(self, invited: bool) -> None:
        self.took("create")
        self.drafts.append(make_survey(f"Life {next(self.numbers)}", invitation=invited))

    @precondition(lambda self: self.drafts)
    @rule()
    def publish(self) -> None:
        self.took("publish")
        survey = self.drafts.pop()
        assert self.store.publish(survey, minimum_batch=MINIMUM)
        assert not self.store.publish(survey, minimum_batch=MINIMUM)  # a second time changes nothing
        self.models.append(SurveyModel(survey))

    @precondition(lambda self: self.models)
    @rule(at=st.integers(0, 9), n=st.integers(1, 8))
    def invite(self, at: int, n: int) -> None:
        self.took("invite")
        model = self.pick(at)
        if model.survey.settings.invitation:
            model.codes += invitations.invite(self.store, model.survey.hash, n)
            return
        try:
            invitations.invite(self.store, model.survey.hash, n)
        except HushpollError:
            return
        raise AssertionError("a survey without invitations gave some")

    @precondition(lambda self: self.models)
    @rule(at=st.integers(0, 9), which=st.integers(0, 99), n=st.integers(1, 6))
    def submit(self, at: int, which: int, n: int) -> None:
        self.took("submit")
        model = self.pick(at)
        for number in range(n):
            code = None
            if model.is_by_invitation and model.codes:
                code = model.codes[(which + number) % len(model.codes)]
            report = fresh_report(model.survey)
            status = self.send(model, report, code)
            if not model.open:
                assert status == 410
            elif model.is_by_invitation and (code is None or code in model.used_codes):
                assert status == 403
            else:
                assert status == 201
                model.take(report, code)

    @precondition(lambda self: any(model.acknowledged for model in self.models))
    @rule(at=st.integers(0, 9), which=st.integers(0, 99))
    def replay(self, at: int, which: int) -> None:
        self.took("replay")
        model = self.pick(at, lambda model: bool(model.acknowledged))
        report, code = list(model.acknowledged.values())[which % len(model.acknowledged)]
        # Also when it is sealed, closed, or its code is spent.
        assert self.send(model, report, code) == 200

    @precondition(lambda self: any(model.acknowledged for model in self.models))
    @rule(at=st.integers(0, 9), which=st.integers(0, 99))
    def tamper(self, at: int, which: int) -> None:
        """Another content under a known id, a report out of range, an id that is none."""
        self.took("tamper")
        model = self.pick(at, lambda model: bool(model.acknowledged))
        report, code = list(model.acknowledged.values())[which % len(model.acknowledged)]
        other = replace(report, reports=tuple((value + 1) % 2 for value in report.reports))
        # Of a sealed report nothing but the id is model: 200, and nothing changes.
        assert self.send(model, other, code) in (200, 409)
        for bad in ((99,) * len(report.reports), report.reports[:-1], (-1, *report.reports[1:])):
            assert self.send(model, Report(os.urandom(16).hex(), bad), code) == 422

    @rule()
    def seal(self) -> None:
        self.took("seal")
        moved = seal.seal_due(self.store)
        assert moved == sum(self._release(model) for model in self.models)

    def _release(self, model: SurveyModel) -> int:
        waiting = len(model.acknowledged) - model.sealed
        due = 0
        if not model.open:
            due = waiting
        elif waiting >= 2 * MINIMUM:
            due = waiting - MINIMUM
        model.sealed += due
        return due

    @precondition(lambda self: self.models)
    @rule(at=st.integers(0, 9))
    def close(self, at: int) -> None:
        self.took("close")
        model = self.pick(at)
        assert closing.close(self.store, model.survey.hash) == model.open
        if model.open:
            model.open = False
            for other in self.models:
                self._release(other)

    @precondition(lambda self: self.models)
    @rule(at=st.integers(0, 9))
    def export(self, at: int) -> None:
        """Run the command: it seals what is due first, and its table holds the sealed reports, each as it was sent."""
        self.took("export")
        model, folder = self.pick(at), self.home / f"export-{next(self.numbers)}"
        with mock.patch.object(minimum, "MINIMUM", 0):
            run_command(self.config, "export", model.survey.hash, "--out", str(folder))
        for other in self.models:
            self._release(other)
        with (folder / "reports.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == model.sealed
        sent = Counter(tuple(map(str, report.reports)) for report, _ in model.acknowledged.values())
        assert Counter(tuple(row.values()) for row in rows) <= sent, "the export holds what nobody sent"

    @precondition(lambda self: self.since_backup >= STEPS_BETWEEN_BACKUPS)
    @rule()
    def back_up_and_restore(self) -> None:
        """Go on with a copy, of the other kind of database where there is one; the key is kept elsewhere."""
        self.took("back_up_and_restore")
        self.since_backup = 0
        file = self.home / f"backup-{next(self.numbers)}"
        backup.write_backup(self.store.database, file)
        kind = "sqlite" if self.config.database_url or self.cluster is None else "postgresql"
        copy = database(kind, self.cluster, "template0")
        url = copy.__enter__()
        self.extra.append(copy)
        new = replace(
            self.config,
            data=self.home / f"data-{next(self.numbers)}",
            database_url=url,
            secret_key_file=str(self.config.key_path),
        )
        restore_backup(new, file)
        self.store.close()
        self.config = new
        self.start()

    @precondition(lambda self: any(takes_reports(model) for model in self.models))
    @rule(at=st.integers(0, 9), which=st.integers(0, 99), after=st.booleans())
    def crash(self, at: int, which: int, after: bool) -> None:
        """Die in the middle of a commit, or after it and before the answer; the device sends again afterwards."""
        self.took("crash")
        model = self.pick(at, takes_reports)
        code = model.free[which % len(model.free)] if model.is_by_invitation else None
        report = fresh_report(model.survey)
        with dying(after):
            assert self.send(model, report, code) == 503
        self.store.close()
        self.start()
        assert self.send(model, report, code) == (200 if after else 201)
        model.take(report, code)

    @precondition(
        lambda self: self.since_kill >= STEPS_BETWEEN_KILLS and any(map(takes_reports, self.models))
    )
    @rule(at=st.integers(0, 9), n=st.integers(1, 40), milliseconds=st.integers(0, 60))
    def kill(self, at: int, n: int, milliseconds: int) -> None:
        """Let another process store reports and kill it at any moment: what it acknowledged is there."""
        self.took("kill")
        self.since_kill = 0
        model = self.pick(at, takes_reports)
        codes: list[str | None] = [None] * n
        if model.is_by_invitation:
            codes = [*model.free[:n]]
        reports = [fresh_report(model.survey) for _ in codes]
        self.store.close()
        bodies = [report.to_bytes(code) for report, code in zip(reports, codes, strict=True)]
        acknowledged = doomed.run(self.config, model.survey.hash, bodies, milliseconds / 1000)
        self.start()
        for number, (report, code) in enumerate(zip(reports, codes, strict=True)):
            status = self.send(model, report, code)
            assert status == 200 if number < acknowledged else status in (200, 201), (
                number,
                acknowledged,
                status,
            )
            model.take(report, code)

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        for model in self.models:
            survey, form = model.survey, self.store.record_format(model.survey.hash)
            reports = [report for report, _ in model.acknowledged.values()]
            assert stored(self.store, survey) == sorted(form.pack(report.reports) for report in reports)
            ids = sorted(self.store.id_digest(survey.hash, bytes.fromhex(report.id)) for report in reports)
            assert recognised(self.store, survey) == ids
            assert self.store.sealed_count(survey.hash) == model.sealed
            if survey.settings.invitation:
                assert used_codes(self.store, survey.hash) == (len(model.codes), len(model.used_codes))


@contextmanager
def dying(after: bool) -> Iterator[None]:
    """Let the thread that stores fail before its commit, or after it."""
    real = Writer._store_reports

    def fail(self: Writer, jobs: Any) -> Any:
        if after:
            real(self, jobs)
        raise OSError("died")

    with mock.patch.object(Writer, "_store_reports", fail):
        yield


def live(
    backend: str, cluster: Postgres | None, steps: int, tell: Callable[[str], None] = lambda _: None
) -> Counter[str]:
    """Take at least this many steps, fifty in each life; return how many there were of each kind."""
    machine = type(
        "OneLife",
        (Life,),
        {"backend": backend, "cluster": cluster, "tell": staticmethod(tell), "steps": Counter()},
    )
    taken_steps: Counter[str] = machine.steps  # type: ignore[attr-defined]
    steps_per_life = min(50, steps)
    # A life may end early, and Hypothesis may draw a life of one kind of step: go on until there are enough of each.
    while taken_steps.total() < steps or len(taken_steps) < FEWEST_KINDS:
        run_state_machine_as_test(  # type: ignore[no-untyped-call]
            machine,
            settings=settings(
                # The first life that Hypothesis draws is always the simplest: sealing nothing, again and again.
                max_examples=max(2, (steps - taken_steps.total()) // steps_per_life),
                stateful_step_count=steps_per_life,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            ),
        )
    return taken_steps


# How many steps each database's process has taken; they are told where the processes were started.
Counts = dict[str, Any]
so_far: Counts = {}


def _share(counts: Counts) -> None:
    so_far.update(counts)
    # Every planted crash is in the log of its server; what went wrong is told by the model.
    logging.disable()


def _live_and_count(backend: str, cluster: Postgres, steps: int) -> Counter[str]:
    def count(_: str) -> None:
        so_far[backend].value += 1

    return live(backend, cluster, steps, count)


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Take 5,000 steps on each kind of database, both at once, going over to the other at each restore."""
    steps = max(50, round(5_000 * size))
    # Started anew: a fork of this process would share its connections.
    processes = multiprocessing.get_context("spawn")
    counts: Counts = {backend: processes.Value("l") for backend in BACKENDS}
    with ProcessPoolExecutor(mp_context=processes, initializer=_share, initargs=(counts,)) as pool:
        running = {backend: pool.submit(_live_and_count, backend, cluster, steps) for backend in BACKENDS}
        while wait(running.values(), timeout=1).not_done:
            tell(", ".join(f"{backend} step {count.value:,}" for backend, count in counts.items()))
    counters = {backend: run.result() for backend, run in running.items()}
    kinds = sum(counters.values(), Counter[str]())
    assert kinds.total() >= 10_000 * size
    assert size < 1 or min(kinds[kind] for kind in KINDS) >= 10, kinds
    by_kind = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
    return (
        ", ".join(f"{counter.total():,} steps on {backend}" for backend, counter in counters.items())
        + f" ({by_kind}): the store is the model"
    )
