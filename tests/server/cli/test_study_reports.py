"""A study of the reports in a server's database."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient
from hushpoll_analysis import Study
from hushpoll_client import HushpollError, Survey
from hushpoll_server.collect import closing
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.store.surveys import Store

from tests.server.reporting import fill


@pytest.fixture
def backend() -> str:
    """The URL of a file is read; one database will do."""
    return "sqlite"


def url_of(store: Store) -> str:
    return store.database.engine.url.render_as_string(hide_password=False)


def test_a_study_reads_a_database(store: Store, client: FlaskClient, survey: Survey) -> None:
    fill(client, survey, 80)
    closing.close(store, survey.hash)
    seal_due(store, wait=True)
    for what in (survey, survey.hash, survey.hash[:12]):
        study = Study(what, url_of(store))
        assert study.survey == survey
        assert study.share("cheated").n == 80
        assert study.crosstab("cheated", "tax").n == 80


def test_too_few_reports_are_not_read(store: Store, client: FlaskClient, survey: Survey) -> None:
    fill(client, survey, 20)
    closing.close(store, survey.hash)
    with pytest.raises(HushpollError, match="from 50 on"):
        Study(survey, url_of(store))


def test_a_database_that_is_not_there_is_named(
    survey: Survey, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("none") / "hushpoll.sqlite3"
    with pytest.raises(HushpollError, match="there is no database"):
        Study(survey, f"sqlite:///{path}")
    with pytest.raises(HushpollError, match="not the URL"):
        Study(survey, "://")
