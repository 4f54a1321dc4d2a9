"""Links: their parts, their spellings, and which are refused."""

from __future__ import annotations

import pytest
from hushpoll_client import SubmitError, Survey
from hushpoll_client.delivery.link import Link

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Exam",
        "questions": [
            {"id": "cheated", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "truth": "3/4"}}
        ],
    }
)
HASH = SURVEY.hash


def test_a_link_is_parsed() -> None:
    link = Link.parse(f"https://polls.example.org/school/s/{HASH}?lang=fr#{HASH}.abc-1")
    assert link == Link("https://polls.example.org/school", HASH, "abc-1")
    assert link.document_url == f"https://polls.example.org/school/api/surveys/{HASH}"
    assert not link.unprotected
    assert Link.parse(f"http://127.0.0.1:8000/s/{HASH}") == Link("http://127.0.0.1:8000", HASH, None, False)
    assert Link.parse(f"http://[::1]:8000/s/{HASH[:12]}#{HASH}").hash == HASH


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("HTTP://LOCALHOST:8000", "http://localhost:8000"),
        ("https://Survey.Example.org:443", "https://survey.example.org"),
        ("http://example.org:80/School", "http://example.org/School"),
        ("https://example.org:80", "https://example.org:80"),
    ],
)
def test_spellings_of_one_server_are_one_server(url: str, server: str) -> None:
    """The ledger took LOCALHOST and localhost for two servers, and added nothing up."""
    assert Link.parse(f"{url}/s/{HASH}").server == server


@pytest.mark.parametrize(("url", "unprotected"), [("http://10.0.0.2", True), ("http://localhost:80", False)])
def test_an_unencrypted_address_of_another_machine_is_known(url: str, unprotected: bool) -> None:
    assert Link.parse(f"{url}/s/{HASH}").unprotected is unprotected


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("exam", "not an http or https address"),
        (f"ftp://example.org/s/{HASH}", "not an http or https address"),
        ("http://[broken/s/1", "not an http or https address"),
        (f"http://example.org/t/{HASH}", "not the address of a survey"),
        (f"http://example.org/s/{HASH}#{'0' * 64}", "not that of the address"),
        (f"http://example.org/s/{HASH}#abc", "not a survey's hash"),
        (f"http://example.org/s/{HASH[:12]}", "short address"),
    ],
)
def test_a_bad_link_is_refused(url: str, message: str) -> None:
    with pytest.raises(SubmitError, match=message):
        Link.parse(url)
