"""`hushpoll answer` against a running server: the same checks, memory and resend as the browser."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hushpoll_client import Survey
from hushpoll_client.cli.answer import one_sided_truths
from hushpoll_client.cli.interview import lead, odds
from hushpoll_server.collect.invitations import invite
from hushpoll_server.store.surveys import Store
from werkzeug.serving import make_server

from tests.command import run_command
from tests.serving import make_survey, reserve, waiting_records
from tests.vectors.surveys import about_draft

ANSWERS = {"cheated": "Yes", "reason": "Habit", "tax": {"answer": "No", "decoy": "Yes"}}


@pytest.fixture
def backend() -> str:
    """What the command sends is the same for every database behind the server."""
    return "sqlite"


class Server:
    """The application on a free port, in a thread: can be stopped and started again on the same one."""

    def __init__(self, app: Flask, store: Store) -> None:
        self.app = app
        self.store = store
        self.held = reserve()
        self.port = self.held.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.http = make_server("127.0.0.1", self.port, self.app, threaded=True)
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()

    def stop(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(app: Flask, store: Store) -> Iterator[Server]:
    started = Server(app, store)
    started.start()
    yield started
    started.stop()
    started.held.close()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run the command as a user with an empty state folder; return status, stdout and stderr."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))

    def command(*arguments: str) -> tuple[int, str, str]:
        return run_command(capsys, "answer", *arguments)

    return command


def stored(server: Server, survey: Survey) -> dict[bytes, bytes]:
    return waiting_records(server.store, survey.hash)


def test_a_file_of_answers_is_sent_once_and_the_same_again(
    server: Server, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    survey = make_survey()
    server.store.publish(survey)
    url, file = f"{server.url}/s/{survey.hash}#{survey.hash}", str(tmp_path / "answers.json")
    status, out, err = run(url, "--answers", file, "--json")
    sent = json.loads(out)
    assert (status, sent["status"], sent["new"], sent["epsilon_total"]) == (0, 201, True, None)
    assert "tax: A No does reveal your No." in err
    assert "cheated" not in err
    assert sent["reports"][2] == 1  # the OR of No and Yes
    record = server.store.record_format(survey.hash).pack(tuple(sent["reports"]))
    digest = server.store.id_digest(survey.hash, bytes.fromhex(sent["id"]))
    assert stored(server, survey) == {digest: record}
    # Whatever is answered the second time, the first draw is what counts.
    (tmp_path / "answers.json").write_text(json.dumps({**ANSWERS, "tax": "No"}))
    status, out, err = run(url, "--answers", file, "--json")
    assert status == 0
    del sent["reports"]  # it has arrived, and nothing keeps it here any more
    assert json.loads(out) == {**sent, "status": 200, "new": False}
    assert run(url)[:2] == (0, "The report has arrived, and is not kept here any more; it counts once.\n")
    assert "nothing is drawn anew" in err
    digest = server.store.id_digest(survey.hash, bytes.fromhex(sent["id"]))
    assert stored(server, survey) == {digest: record}
    status, out, _ = run(url, "--clear")
    assert (status, out) == (0, "This machine is cleared.\n")
    assert list((tmp_path / "state" / "hushpoll").iterdir()) == []


def test_a_server_that_is_down_keeps_the_report_for_the_next_time(
    server: Server,
    run: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = make_survey()
    server.store.publish(survey)
    url, file = f"{server.url}/s/{survey.hash}", str(tmp_path / "answers.json")
    monkeypatch.setattr("hushpoll_client.delivery.send.time.sleep", lambda seconds: None)
    monkeypatch.setattr("hushpoll_client.cli.answer.submit", dying(server))
    status, _, err = run(url, "--answers", file)
    assert status == 2
    assert "run the same command again" in err.splitlines()[-1]
    (state_file,) = (tmp_path / "state" / "hushpoll").iterdir()
    waiting = json.loads(state_file.read_bytes())
    assert waiting["state"] == "waiting"
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    server.start()
    status, out, _ = run(url, "--json")
    assert (status, json.loads(out)["id"]) == (0, waiting["id"])
    assert json.loads(state_file.read_bytes()) == {"id": waiting["id"], "state": "sent"}
    assert len(stored(server, survey)) == 1


def dying(server: Server) -> Callable[..., int]:
    """`submit`, but the server stops just before."""
    from hushpoll_client.delivery.send import submit

    def stop_then_submit(*arguments: object) -> int:
        server.stop()
        return submit(*arguments, sleep=lambda seconds: None)  # type: ignore[arg-type]

    return stop_then_submit


def test_the_terminal_asks_every_question_and_the_decoy(
    server: Server, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = make_survey()
    server.store.publish(survey)
    typed = iter([2, 3, 1, 1])
    monkeypatch.setattr("click.prompt", lambda *_args, **_options: next(typed))
    status, out, err = run(f"{server.url}/s/{survey.hash}#{survey.hash}", "--json")
    assert status == 0
    assert json.loads(out)["reports"][2] == 0
    assert "Of 100 people who choose Yes, about 73 are recorded as Yes; of 100 who choose No, about 27" in err
    assert "Have you ever visited Brittany?" in err
    assert list(typed) == []


def test_an_invitation_is_read_from_the_link_and_a_kiosk_stores_nothing(
    server: Server, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    survey = make_survey(kiosk=True, invitation=True)
    server.store.publish(survey)
    (code,) = invite(server.store, survey.hash, 1)
    url, file = f"{server.url}/s/{survey.hash}#{survey.hash}", str(tmp_path / "answers.json")
    status, _, err = run(url, "--answers", file)
    assert status == 2
    assert "invitation" in err.splitlines()[-1]
    assert run(f"{url}.{code}", "--answers", file)[0] == 0
    assert list((tmp_path / "state" / "hushpoll").iterdir()) == []
    assert len(stored(server, survey)) == 1


def test_an_unknown_invitation_is_refused_before_any_question(
    server: Server,
    run: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = make_survey(kiosk=True, invitation=True)
    server.store.publish(survey)
    (code,) = invite(server.store, survey.hash, 1)
    url = f"{server.url}/s/{survey.hash}#{survey.hash}"
    assert run(f"{url}.{code}", "--answers", str(tmp_path / "answers.json"))[0] == 0
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("something was asked"))
    unknown, too_short = "unknown here, or it has been used", "this link is incomplete"
    for bad_code, message in (("x" * 20, unknown), ("a?b" * 8, unknown), (code[:12], too_short)):
        status, _, err = run(f"{url}.{bad_code}")
        assert (status, message in err.splitlines()[-1]) == (2, True), err
    assert list((tmp_path / "state" / "hushpoll").iterdir()) == []


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ('{"cheated": "Maybe", "reason": "Habit", "tax": "No"}', "Maybe"),
        ('{"cheated": "Yes"}', "has no answer"),
        ('{"cheated": "Yes", "cheated": "No"}', "cheated"),
        ("[]", "must hold an object"),
        ("{", "not JSON"),
        (None, "cannot be read"),
    ],
)
def test_bad_answers_end_in_one_line_and_nothing_is_sent(
    server: Server,
    run: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    answers: str | None,
    message: str,
) -> None:
    survey = make_survey()
    server.store.publish(survey)
    file = tmp_path / "given.json"
    if answers is not None:
        file.write_text(answers)
    status, out, err = run(f"{server.url}/s/{survey.hash}#{survey.hash}", "--answers", str(file))
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1, "what a No reveals is told to those whose answers are sent"
    assert message in err
    assert stored(server, survey) == {}
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/",
        *(f"http://{host}/s/{'a' * 64}" for host in ("[::1", "a:b:c", "a..b", "a" * 64)),
    ],
)
def test_a_bad_link_ends_in_one_line(run: Callable[..., tuple[int, str, str]], address: str) -> None:
    status, out, err = run(address)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("mechanism", "lines"),
    [
        ({"name": "warner", "epsilon": "1"}, []),
        ({"name": "forced", "forced": ["1/6", "1/6"]}, []),
        ({"name": "forced", "forced": ["0", "1/2"]}, ["A No does reveal your No."]),
        ({"name": "forced", "forced": ["1/2", "0"]}, ["A Yes does reveal your Yes."]),
        ({"name": "or_poll", "decoy": "?", "decoy_share": "0.4", "epsilon": "1"}, []),
        (
            {"name": "or_poll", "decoy": "?", "decoy_share": "0.4"},
            ["A No does reveal your No.", "It is sent only if both of your answers are No."],
        ),
        ({"name": "crosswise", "decoy": "?", "decoy_share": "0.4"}, []),
    ],
)
def test_one_sided_protection_is_explained(mechanism: dict[str, object], lines: list[str]) -> None:
    draft = {"id": "q", "kind": "yes_no", "text": "?", "mechanism": mechanism}
    question = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [draft]}).questions[0]
    sentences = one_sided_truths(question)
    assert sentences[: len(lines)] == lines
    decoy_sentence = [
        "Someone who knows your answer to the second question can learn more, up to your own answer."
    ]
    assert sentences[len(lines) :] == (
        decoy_sentence if question.decoy and question.mechanism.device.ratio is None else []
    )


def around(server: Server, **look: object) -> str:
    """Return the link of a survey with a full presentation, in three languages."""
    document = about_draft() | {"look": look}
    survey = Survey.from_draft(
        document if look else {key: document[key] for key in document if key != "look"}
    )
    server.store.publish(survey)
    return f"{server.url}/s/{survey.hash}#{survey.hash}"


GIVEN = {"a": "Yes", "b": "x", "c": 2, "d": {"answer": "No", "decoy": "No"}}


def test_consent_is_needed_before_anything_is_drawn(
    server: Server, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    url, file = around(server), tmp_path / "given.json"
    file.write_text(json.dumps(GIVEN))
    status, _, err = run(url, "--answers", str(file))
    assert status == 2
    assert "I am 18 or older" in err
    assert "--consent" in err
    assert not list((tmp_path / "state").rglob("*.json"))
    status, _, err = run(url, "--answers", str(file), "--consent", "--language", "fr")
    assert status == 0
    assert "University of Somewhere" in err
    assert "Title fr" in err
    assert err.rstrip().endswith("Thanks fr\nHelp fr: tel:112")


def test_the_terminal_asks_in_the_surveys_language(
    server: Server,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = around(server)
    typed = "\n".join(["y", "yes", "y fr", "2", "no", "no", ""])
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    status, out, err = run(url, "--language", "fr")
    assert status == 0, err
    for text in ("Consent fr", "A fr", "x fr", "One fr", "Two fr", "Text fr", "Decoy fr"):
        assert text in err, text
    assert err.index("Consent fr") < err.index("A fr")
    assert "Sent." in out


def test_without_consent_no_question_is_asked(
    server: Server, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    status, out, err = run(around(server))
    assert status == 2
    assert "Question 1" not in out + err


def test_a_language_that_the_survey_lacks_is_refused(
    server: Server, run: Callable[..., tuple[int, str, str]]
) -> None:
    status, _, err = run(around(server), "--language", "de")
    assert status == 2
    assert "choose one of en, fr, ar" in err or "choose one of en, ar, fr" in err


@pytest.mark.parametrize("quick", [True, False])
def test_a_survey_with_a_quick_exit_is_not_listed(
    server: Server, run: Callable[..., tuple[int, str, str]], tmp_path: Path, quick: bool
) -> None:
    url = around(server, **({"quick_exit": True} if quick else {"layout": "page"}))
    file = tmp_path / "given.json"
    file.write_text(json.dumps(GIVEN))
    assert run(url, "--answers", str(file), "--consent")[0] == 0
    ledgers = [path for path in (tmp_path / "state" / "hushpoll").iterdir() if "ledger" in path.name]
    assert bool(ledgers) != quick


@pytest.mark.parametrize("options", [["No", "Yes"], ["a", "b", "c"]])
def test_the_terminal_rounds_no_chance_to_all_or_none(options: list[str]) -> None:
    """At epsilon 8 the page says "more than 99"; the terminal must not say "about 100" or "about 0"."""
    kind = {"kind": "yes_no"} if len(options) == 2 else {"kind": "choice", "options": options}
    question = {"id": "q", "text": "Q?", **kind, "mechanism": {"name": "krr", "epsilon": "8"}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [question]})
    sentence = odds(survey.questions[0])
    assert "more than 99 are recorded" in sentence
    assert ("fewer than 1 are recorded" in sentence) == (len(options) == 2)
    assert "about" not in sentence


@pytest.mark.parametrize(
    "vector",
    json.loads((Path(__file__).parents[2] / "vectors" / "assurance.json").read_text(encoding="ascii")),
    ids=lambda vector: vector["name"],
)
def test_the_terminal_promises_what_the_odds_allow(vector: dict[str, Any]) -> None:
    sentence = lead(Survey.from_published(vector["document"].encode()))
    tier, one_sided = vector["tier"], vector["one_sided"]
    assert ("no one can tell for certain" in sentence) == (tier == "strong" and not one_sided)
    assert ("can hint at" in sentence) == (tier == "fair" and not one_sided)
    assert ("still shows what you chose" in sentence) == one_sided
    assert ("This protects little." in sentence) == (tier == "weak")
    if tier != "weak":
        return
    if vector["kept"] is not None:
        assert f"at least {vector['kept']} of 100" in sentence
        return
    number = re.search(r"up to ([\d.,]+)", sentence)
    assert number
    factor = Fraction(*map(int, vector["factor"]))
    assert factor <= Fraction(number[1].replace(",", "")) <= factor * Fraction(102, 100)
