"""The description of the API: a valid document, with the program's limits and every route and status."""

from __future__ import annotations

import re
from typing import Any

import hushpoll_client
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import mechanisms
from hushpoll_client.channel.wire import SHAPES
from hushpoll_client.limits import MAX_QUESTIONS
from hushpoll_client.survey.group import MAX_GROUPS
from hushpoll_server.collect.api import LONGEST_CODE
from hushpoll_server.collect.intake import LARGEST_BATCH, LARGEST_REPORT, MOST_IN_BATCH
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.server.documented import DOCUMENT, is_of_the_api, operation, undescribed


@pytest.fixture
def backend() -> str:
    """The description does not depend on the database."""
    return "sqlite"


@pytest.fixture
def described(client: FlaskClient) -> dict[str, Any]:
    document: dict[str, Any] = client.get("/api/openapi.json").get_json()
    return document


def test_the_description_is_valid(described: dict[str, Any]) -> None:
    OpenAPIV31SpecValidator(described).validate()
    assert described["openapi"].startswith("3.1")
    assert described["info"]["version"] == hushpoll_client.__version__


def test_it_names_every_route_and_no_other(app: Flask) -> None:
    routes = {
        (re.sub(r"<(?:survey_)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if is_of_the_api(rule.rule)
    }
    assert routes == {
        (path, method)
        for path, operations in DOCUMENT["paths"].items()
        for method in operations
        if method != "parameters"
    }


def test_its_limits_are_the_programs(described: dict[str, Any]) -> None:
    report = described["components"]["schemas"]["Report"]["properties"]
    assert report["reports"]["maxItems"] == MAX_QUESTIONS
    assert report["group"]["maximum"] == MAX_GROUPS - 1
    assert report["invitation"]["maxLength"] == LONGEST_CODE
    path = "/api/surveys/{hash}/reports"
    assert f"{LARGEST_REPORT >> 10} KiB" in described["paths"][path]["post"]["summary"]
    summary = described["paths"][f"{path}/batch"]["post"]["summary"]
    assert f"{MOST_IN_BATCH:,} reports (at most {LARGEST_BATCH >> 20} MiB)" in summary


def test_it_takes_the_reports_of_every_form(described: dict[str, Any]) -> None:
    items = described["components"]["schemas"]["Report"]["properties"]["reports"]["items"]["anyOf"]
    assert items == [shape.schema for shape in SHAPES]
    assert all(re.fullmatch(items[1]["pattern"], "0" * n) for n in (1, 250))
    # A form whose reports look otherwise has to be described too.
    channels = [
        mechanisms.krr(4, 1).device,
        mechanisms.mangat("3/4").device,
        mechanisms.subset(options=12, epsilon=1).device,
    ]
    for channel in channels:
        assert type(channel.wire).schema in items


def test_the_contract_of_a_report_is_described_in_full() -> None:
    responses = operation("POST", f"/api/surveys/{'0' * 64}/reports")
    assert responses is not None
    assert set(responses) == {"200", "201", "403", "404", "409", "410", "413", "415", "422", "429", "503"}


def test_an_answer_that_is_not_described_is_noticed() -> None:
    path = f"/api/surveys/{'0' * 64}"
    assert undescribed("GET", path, 418)
    assert undescribed("HEAD", f"{path}?x=1", 410)
    assert not undescribed("GET", path, 304)
    assert not undescribed("DELETE", path, 405), "the description knows no such request"
    assert not undescribed("GET", "/surveys", 418), "a page, not the API"
